"""Korean."""

from security.injection.concepts import Concept, Vocabulary, listed

VOCABULARY = Vocabulary(
    stems={
        Concept.OVERRIDE: listed("무시, 잊어, 잊고, 우회, 따르지, 지키지, 무효, 해제, 삭제하고, 건너뛰"),
        Concept.PRIOR: listed("이전, 앞의, 위의, 지금까지, 모든, 당신의, 너의, 기존, 원래, 받은"),
        Concept.DIRECTIVE: listed("지시, 명령, 규칙, 제한, 지침, 설정, 프롬프트, 정책, 가이드라인"),
        Concept.REVEAL: listed("알려, 보여, 출력, 공개, 반복해, 말해, 표시, 드러내, 무엇"),
        Concept.OWN: listed("당신의, 너의, 시스템, 숨겨진, 내부, 초기, 비밀"),
        Concept.PROMPT: listed("프롬프트, 지시, 지침, 설정, 시스템 메시지"),
        Concept.PERSONA: listed("무제한, 제한 없, 제한이 없, 검열 없, 개발자 모드, 무엇이든 할 수, 필터 없"),
        Concept.ROLE: listed("이제부터, 지금부터, 역할, 연기해, 행동해, 너는 이제, 당신은 이제, 인 척"),
        Concept.CONCEAL: listed("몰래, 언급하지, 사용자에게 말하지, 사용자에게 알리지"),
        Concept.ADDRESS: listed("어시스턴트, 챗봇, 도우미, 언어 모델"),
        Concept.COMMAND: listed("즉시, 반드시, 대신, 당장, 실행해"),
        Concept.SEND: listed("전송, 보내, 전달, 업로드"),
        Concept.SECRET: listed("비밀번호, 암호, 토큰, 개인정보, 자격 증명, 대화 기록, api 키"),
        Concept.AUTHORITY: listed("관리자 모드, 디버그 모드, 유지보수 모드, 나는 개발자"),
        Concept.MARKER: listed("새로운 지시, 새 지시, 새로운 명령, 시스템 알림"),
        Concept.SAY: listed("말해, 출력, 대답, 번역, 반복"),
        Concept.TAUNT: listed("나는 해킹당했, 해킹당했습니다"),
    }
)
