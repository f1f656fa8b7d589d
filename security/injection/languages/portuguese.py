"""Portuguese and Italian, which attackers mix freely."""

from security.injection.concepts import Concept, Vocabulary, listed

VOCABULARY = Vocabulary(
    words={
        Concept.OVERRIDE: listed(
            "ignore, ignora, ignorar, ignorare, ignorate, esqueça, esqueca, esquecer, desconsidere, "
            "descarte, contorne, contornar, desative, dimentica, dimenticare, dimenticate, trascura, "
            "aggira, aggirare, scarta, disattiva, supera, não siga, non seguire, pare de seguir, "
            "non tenere conto, desobedeça, burle"
        ),
        Concept.PRIOR: listed(
            "anteriores, anterior, prévias, previas, originais, todas, todos, suas, seus, acima, "
            "precedenti, precedente, tutte, tutti, tue, tuoi, sopra, esistenti"
        ),
        Concept.DIRECTIVE: listed(
            "instruções, instrucoes, instrução, regras, regra, diretrizes, ordens, restrições, "
            "limitações, limites, filtros, normas, programação, istruzioni, istruzione, regole, "
            "regola, direttive, direttiva, restrizioni, vincoli, limiti, comandi, filtri, linee, "
            "programmazione"
        ),
        Concept.REVEAL: listed(
            "mostre, mostra, mostrar, revele, revela, revelar, repita, imprima, diga, exiba, "
            "escreva, compartilhe, mostrami, rivela, rivelare, rivelami, ripeti, stampa, dimmi, "
            "dammi, scrivi, condividi, svela, qual é, quais são, quali sono"
        ),
        Concept.OWN: listed(
            "seu, sua, seus, suas, teu, sistema, oculto, ocultas, secreto, secretas, inicial, "
            "iniciais, tuo, tua, tuoi, tue, nascosta, nascosto, nascoste, segrete, iniziale, "
            "iniziali, interne, base"
        ),
        Concept.PROMPT: listed(
            "prompt, instruções, configuração, istruzioni, configurazione, direttiva, "
            "prompt do sistema, mensagem do sistema, prompt di sistema, messaggio di sistema"
        ),
        Concept.PERSONA: listed(
            "sem restrições, sem filtros, sem limites, sem censura, sem regras, modo desenvolvedor, "
            "senza restrizioni, senza filtri, senza limiti, senza censura, senza regole, "
            "modalità sviluppatore"
        ),
        Concept.ROLE: listed(
            "você agora é, a partir de agora, aja como, finja, simule, faça de conta, imagine que, "
            "sei ora, ora sei, d ora in poi, da ora in poi, agisci come, fingi, comportati, "
            "cambia in, immagina di"
        ),
        Concept.CONCEAL: listed(
            "não conte, não diga ao usuário, sem avisar, sem informar, não mencione, "
            "non dire all utente, senza avvisare, senza informare, non menzionare"
        ),
        Concept.ADDRESS: listed("assistente, chatbot, ia, modelo de linguagem, modello linguistico"),
        Concept.COMMAND: listed(
            "imediatamente, exclusivamente, deve, execute, immediatamente, devi, esclusivamente, "
            "esegui, nova tarefa, nuovo compito"
        ),
        Concept.SEND: listed(
            "envie, enviar, mande, encaminhe, transmita, invia, inviare, manda, inoltra, carica"
        ),
        Concept.SECRET: listed(
            "senha, senhas, credenciais, segredos, password, credenziali, segreti, chave api, "
            "chave de api, chiave api, histórico, dados pessoais, cronologia, dati personali"
        ),
        Concept.AUTHORITY: listed(
            "modo administrador, modo de depuração, modo de manutenção, sou o desenvolvedor, "
            "modalità amministratore, modalità debug, sono lo sviluppatore"
        ),
        Concept.MARKER: listed(
            "novas instruções, nova instrução, novas regras, nuove istruzioni, nuove regole, fim do documento"
        ),
        Concept.EXECUTE: listed("execute, executa, executar"),
        Concept.SAY: listed("diga, escreva, responda, repita, traduza, imprima"),
        Concept.TAUNT: listed("fui hackeado, eu fui invadido"),
    }
)
