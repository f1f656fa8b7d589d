"""German."""

from security.injection.concepts import Concept, Vocabulary, listed

VOCABULARY = Vocabulary(
    words={
        Concept.OVERRIDE: listed(
            "ignoriere, ignorier, ignorieren, ignoriert, missachte, missachten, vergiss, vergessen, "
            "vergesse, umgehe, umgehen, ueberschreibe, überschreibe, überschreiben, verwirf, "
            "verwerfen, verwerft, deaktiviere, deaktivieren, lass außer acht, halte dich nicht an, "
            "befolge nicht, missachtet, beachte nicht, hebe auf, lösche, außer kraft"
        ),
        Concept.PRIOR: listed(
            "vorherigen, vorherige, bisherigen, bisherige, obigen, obige, früheren, frühere, "
            "vorigen, vorangegangenen, ursprünglichen, alten, vorgegebenen, bestehenden, alle, "
            "alles, deine, deinen, deiner, davor, gegebenen"
        ),
        Concept.DIRECTIVE: listed(
            "anweisungen, anweisung, regeln, regel, vorgaben, richtlinien, anordnungen, "
            "instruktionen, befehle, aufforderungen, einschränkungen, beschränkungen, vorschriften, "
            "aufgaben, filter, sicherheitsregeln, ausführungen, aussagen, grenzen, programmierung"
        ),
        Concept.REVEAL: listed(
            "zeige, zeig, verrate, verrat, nenne, nenn, gib, drucke, wiederhole, offenbare, "
            "enthülle, schreibe, liste, sage, sag, teile, wie lautet, was steht, was ist, was sind, "
            "zeigen, verraten, ausgeben"
        ),
        Concept.OWN: listed(
            "deinen, deine, deiner, dein, ihre, ihren, versteckten, versteckte, geheimen, geheime, "
            "internen, interne, ursprüngliche, anfänglichen, systemweiten"
        ),
        Concept.PROMPT: listed(
            "systemprompt, prompt, systemanweisung, systemanweisungen, anweisungen, "
            "eingabeaufforderung, konfiguration, startprompt, systemnachricht, initialprompt"
        ),
        Concept.PERSONA: listed(
            "uneingeschränkt, uneingeschränkter, ungefiltert, ungefilterte, unzensiert, unzensierte, "
            "entwicklermodus, ohne einschränkungen, ohne regeln, ohne filter, ohne grenzen, "
            "keine regeln, keine einschränkungen, keine grenzen"
        ),
        Concept.ROLE: listed(
            "spiele, simuliere, du bist jetzt, du bist nun, ab jetzt, ab sofort, von nun an, tu so, "
            "verhalte dich, stell dir vor, schlüpfe in, wechsle in, aktiviere"
        ),
        Concept.CONCEAL: listed(
            "sag dem nutzer nichts, sage dem nutzer nichts, ohne den nutzer, ohne dem nutzer, "
            "erwähne nicht, verschweige, nicht dem benutzer, informiere nicht"
        ),
        Concept.ADDRESS: listed("assistent, sprachmodell, ki, chatbot, ki assistent"),
        Concept.COMMAND: listed(
            "sofort, musst, stattdessen, unverzüglich, ausschließlich, führe aus, neue aufgabe, wichtig"
        ),
        Concept.SEND: listed(
            "sende, senden, schicke, schicken, leite, weiterleiten, übermittle, lade, hochladen, maile"
        ),
        Concept.SECRET: listed(
            "passwort, passwörter, zugangsdaten, schlüssel, geheimnis, geheimnisse, kundendaten, "
            "gesprächsverlauf, api schlüssel, nutzerdaten"
        ),
        Concept.AUTHORITY: listed(
            "adminmodus, wartungsmodus, debugmodus, ich bin der entwickler, ich bin dein entwickler, "
            "als administrator"
        ),
        Concept.MARKER: listed(
            "neue anweisungen, neue anweisung, neue regeln, systemhinweis, ende der eingabe"
        ),
        Concept.EXECUTE: listed("führe aus, ausführen, starte"),
        Concept.SAY: listed("sag, sage, schreib, schreibe, antworte, wiederhole, übersetze, gib"),
        Concept.TAUNT: listed("ich wurde gehackt, ich bin gehackt"),
    }
)
