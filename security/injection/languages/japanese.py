"""Japanese."""

from security.injection.concepts import Concept, Vocabulary, listed

VOCABULARY = Vocabulary(
    stems={
        Concept.OVERRIDE: listed(
            "無視, 忘れ, 破棄, 従わな, 守らな, 回避, 無効, 解除, 上書き, 取り消, 従うのをやめ, バイパス"
        ),
        Concept.PRIOR: listed(
            "以前, これまで, 前の, 上記, すべて, 全て, あなたの, 先ほど, 元の, 今まで, 上の, 与えられた"
        ),
        Concept.DIRECTIVE: listed(
            "指示, 命令, ルール, 規則, 制限, 設定, プロンプト, 制約, ガイドライン, 指令, ポリシー"
        ),
        Concept.REVEAL: listed("教えて, 表示, 見せて, 出力, 開示, 繰り返, 公開, 明かし, 書き出, 漏ら"),
        Concept.OWN: listed("あなたの, システム, 隠され, 内部, 最初の, 初期, 秘密"),
        Concept.PROMPT: listed("プロンプト, 指示, 設定, 命令文, システムメッセージ"),
        Concept.PERSONA: listed(
            "制限なし, 制限のない, 無制限, 検閲なし, 検閲のない, 開発者モード, 何でもでき, フィルターなし"
        ),
        Concept.ROLE: listed(
            "今からあなたは, あなたは今, これからは, ふりをし, 演じて, なりきっ, として振る舞, ロールプレイ"
        ),
        Concept.CONCEAL: listed("ユーザーに言わな, ユーザーには言わな, 知らせず, 知らせない, 伝えない, 内緒"),
        Concept.ADDRESS: listed("アシスタント, チャットボット, 言語モデル"),
        Concept.COMMAND: listed("直ちに, すぐに, 必ず, 代わりに, 実行し, 実行せよ"),
        Concept.SEND: listed("送信, 送って, 転送, アップロード, 送れ"),
        Concept.SECRET: listed("パスワード, 認証情報, 秘密鍵, トークン, 会話履歴, 個人情報, apiキー"),
        Concept.AUTHORITY: listed("管理者モード, デバッグモード, メンテナンスモード, 私は開発者"),
        Concept.MARKER: listed("新しい指示, 新しい命令, 新しいルール, システム通知"),
        Concept.SAY: listed("言って, 出力, 答えて, 翻訳, 繰り返"),
        Concept.TAUNT: listed("ハッキングされました, 私はハックされた"),
    }
)
