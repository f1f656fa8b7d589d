"""Italian."""

from security.injection.concepts import Concept, Vocabulary, listed

VOCABULARY = Vocabulary(
    words={
        Concept.OVERRIDE: listed(
            "ignora, ignorate, ignorare, dimentica, dimenticate, dimenticare, trascura, aggira, "
            "aggirare, annulla, abbandona, disattiva, disattivare, disabilita, bypassa, "
            "sovrascrivi, non seguire, non seguire più, non tenere conto, elimina, cancella, "
            "tralascia, scarta, smetti di seguire, smetti, viola, infrangi, non rispettare, "
            "sfida, sfidare"
        ),
        Concept.PRIOR: listed(
            "precedenti, precedente, anteriori, iniziali, sopra, prima, tutte, tutti, tue, tuoi, "
            "tuo, tua, ricevute, ricevuti, attuali, esistenti, ogni"
        ),
        Concept.DIRECTIVE: listed(
            "istruzioni, istruzione, regole, regola, direttive, direttiva, restrizioni, vincoli, "
            "ordini, limiti, programmazione, parametri, filtri, limitazioni, protocolli, comandi, "
            "linee guida, indicazioni"
        ),
        Concept.REVEAL: listed(
            "mostra, mostrami, mostrare, rivela, rivelami, rivelare, stampa, ripeti, ripetere, "
            "svela, divulga, condividi, elenca, fornisci, dimmi, qual è, quali sono, smaschera, "
            "visualizza, esponi, dammi, scrivi, descrivi"
        ),
        Concept.OWN: listed(
            "tuo, tua, tue, tuoi, sistema, nascosto, nascosta, nascoste, segreto, segrete, "
            "iniziale, iniziali, interno, interne, base, originale, originali"
        ),
        Concept.PROMPT: listed(
            "prompt, istruzioni, istruzione, configurazione, prompt di sistema, messaggio di "
            "sistema, comando iniziale, comandi iniziali, comando, impostazioni, linee guida"
        ),
        Concept.PERSONA: listed(
            "senza censura, senza filtri, senza restrizioni, senza limiti, senza limitazioni, "
            "senza regole, modalità sviluppatore, nessuna regola, nessuna restrizione, nessun "
            "limite, nessun filtro"
        ),
        Concept.ROLE: listed(
            "ora sei, adesso sei, sei ora, d ora in poi, da ora in poi, agisci come, comportati "
            "come, fingi, fai finta, interpreta, immagina di, simula, gioca il ruolo, entra in "
            "modalità, passa alla modalità"
        ),
        Concept.CONCEAL: listed(
            "non dire all utente, non dirlo, non menzionare, senza informare, senza avvisare, non "
            "informare, non rivelare questo"
        ),
        Concept.ADDRESS: listed("assistente, chatbot, ia, modello linguistico, intelligenza artificiale"),
        Concept.COMMAND: listed(
            "immediatamente, devi, invece, esclusivamente, esegui, nuovo compito, rispondi solo, rispondi con"
        ),
        Concept.SEND: listed("invia, inviare, inoltra, trasmetti, manda, carica, spedisci"),
        Concept.SECRET: listed(
            "password, credenziali, token, segreti, chiave api, chiavi api, chiave segreta, "
            "cronologia, dati personali, dati sensibili"
        ),
        Concept.AUTHORITY: listed(
            "modalità amministratore, modalità debug, modalità manutenzione, sono lo "
            "sviluppatore, sono il tuo sviluppatore, sono l amministratore"
        ),
        Concept.MARKER: listed(
            "nuove istruzioni, nuova istruzione, nuove regole, fine del documento, istruzioni importanti"
        ),
        Concept.EXECUTE: listed("esegui, eseguire, avvia"),
        Concept.SAY: listed("di, scrivi, rispondi, ripeti, traduci, stampa"),
        Concept.TAUNT: listed("sono stato hackerato, sono stata hackerata"),
    }
)
