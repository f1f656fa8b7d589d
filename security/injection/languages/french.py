"""French."""

from security.injection.concepts import Concept, Vocabulary, listed

VOCABULARY = Vocabulary(
    words={
        Concept.OVERRIDE: listed(
            "ignore, ignorez, ignorer, oublie, oubliez, oublier, contourne, contournez, contourner, "
            "néglige, désactive, désactivez, annule, abandonne, déconnecte, passe outre, "
            "ne tiens pas compte, ne tenez pas compte, ne suis plus, fais abstraction, libère toi, "
            "outrepasse, outrepassez, ne respecte pas, mets de côté"
        ),
        Concept.PRIOR: listed(
            "précédentes, précédente, précédents, antérieures, antérieurs, anciennes, anciens, "
            "initiales, dessus, avant, toutes, tous, tes, vos, actuelles, reçues, existantes"
        ),
        Concept.DIRECTIVE: listed(
            "instructions, instruction, consignes, consigne, règles, règle, directives, directive, "
            "restrictions, contraintes, ordres, limites, programmation, paramètres, filtres, "
            "limitations, protocoles"
        ),
        Concept.REVEAL: listed(
            "montre, montrez, montrer, révèle, révélez, révéler, affiche, affichez, afficher, "
            "répète, répétez, donne, donnez, dis, dévoile, dévoiler, imprime, divulgue, partage, "
            "quelle est, quelles sont, quel est"
        ),
        Concept.OWN: listed(
            "ton, tes, ta, votre, vos, système, cachées, cachée, caché, secrètes, secret, initiale, "
            "initial, interne, internes, base"
        ),
        Concept.PROMPT: listed(
            "prompt, invite, instructions, instruction, consigne, consignes, configuration, "
            "prompt système, message système, invite système"
        ),
        Concept.PERSONA: listed(
            "non censuré, non filtré, sans restriction, sans restrictions, sans filtre, "
            "sans filtres, sans limites, sans limite, sans censure, mode développeur, aucune règle, "
            "aucune restriction, aucune limite"
        ),
        Concept.ROLE: listed(
            "tu es maintenant, tu es désormais, à partir de maintenant, désormais, agis comme, "
            "agis en tant, fais semblant, joue le rôle, imagine que, passe en mode, comporte toi, "
            "simule"
        ),
        Concept.CONCEAL: listed(
            "ne dis rien, ne le dis pas, sans prévenir, sans informer, ne mentionne pas, "
            "n informe pas, ne préviens pas"
        ),
        Concept.ADDRESS: listed("assistant, chatbot, ia, modèle de langage"),
        Concept.COMMAND: listed("immédiatement, dois, plutôt, exclusivement, exécute, nouvelle tâche"),
        Concept.SEND: listed("envoie, envoyez, envoyer, transmets, transfère, transférez, poste, téléverse"),
        Concept.SECRET: listed(
            "identifiants, jeton, secrets, mot de passe, mots de passe, clé api, clés api, "
            "clé secrète, historique, données personnelles"
        ),
        Concept.AUTHORITY: listed(
            "mode administrateur, mode débogage, mode maintenance, je suis le développeur, "
            "je suis ton développeur"
        ),
        Concept.MARKER: listed(
            "nouvelles instructions, nouvelle instruction, nouvelles règles, fin du document"
        ),
        Concept.EXECUTE: listed("exécute, exécutez, exécuter, lance"),
        Concept.SAY: listed("dis, dites, écris, écrivez, réponds, répondez, répète, traduis, affiche"),
        Concept.TAUNT: listed("j ai été piraté, je suis piraté, j ai été hacké"),
    }
)
