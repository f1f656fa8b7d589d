"""Spanish."""

from security.injection.concepts import Concept, Vocabulary, listed

VOCABULARY = Vocabulary(
    words={
        Concept.OVERRIDE: listed(
            "ignora, ignore, ignorar, ignoren, olvida, olvide, olvidar, olvídate, omite, omitir, "
            "descarta, desactiva, anula, salta, elude, evade, incumple, desobedece, haz caso omiso, "
            "no sigas, no hagas caso, deja de seguir, pasa por alto, sáltate, ignoras, abandona, "
            "supera"
        ),
        Concept.PRIOR: listed(
            "anteriores, anterior, previas, previos, previa, antiguas, originales, todas, todos, "
            "tus, sus, iniciales, arriba, actuales, existentes"
        ),
        Concept.DIRECTIVE: listed(
            "instrucciones, instrucción, reglas, regla, directrices, órdenes, ordenes, indicaciones, "
            "restricciones, normas, limitaciones, límites, filtros, programación, pautas, políticas, "
            "protocolos"
        ),
        Concept.REVEAL: listed(
            "muestra, muéstrame, mostrar, revela, revelar, revélame, repite, imprime, dime, dame, "
            "enseña, enséñame, cuéntame, escribe, comparte, cuál es, cuáles son"
        ),
        Concept.OWN: listed(
            "tu, tus, su, sus, oculto, ocultas, ocultos, secreto, secretas, sistema, inicial, "
            "iniciales, internas, interno, base"
        ),
        Concept.PROMPT: listed(
            "prompt, instrucciones, indicaciones, configuración, prompt del sistema, "
            "mensaje del sistema, prompt inicial"
        ),
        Concept.PERSONA: listed(
            "sin restricciones, sin filtros, sin filtro, sin límites, sin limites, sin censura, "
            "sin reglas, modo desarrollador, ninguna restricción, ninguna regla"
        ),
        Concept.ROLE: listed(
            "ahora eres, a partir de ahora, desde ahora, actúa como, finge, simula, haz de, "
            "imagina que, interpreta, activa el modo, entra en modo"
        ),
        Concept.CONCEAL: listed(
            "no le digas, no se lo digas, sin avisar, sin informar, no menciones, no informes"
        ),
        Concept.ADDRESS: listed("asistente, chatbot, ia, modelo de lenguaje"),
        Concept.COMMAND: listed("inmediatamente, debes, exclusivamente, ejecuta, en su lugar, nueva tarea"),
        Concept.SEND: listed("envía, envia, enviar, manda, reenvía, sube, transmite"),
        Concept.SECRET: listed(
            "contraseña, contraseñas, credenciales, secretos, clave api, claves api, clave secreta, "
            "historial, datos personales, clave"
        ),
        Concept.AUTHORITY: listed(
            "modo administrador, modo depuración, modo mantenimiento, soy el desarrollador, "
            "soy tu desarrollador"
        ),
        Concept.MARKER: listed("nuevas instrucciones, nueva instrucción, nuevas reglas, fin del documento"),
        Concept.EXECUTE: listed("ejecuta, ejecute, ejecutar"),
        Concept.SAY: listed("di, diga, escribe, responde, repite, traduce, imprime"),
        Concept.TAUNT: listed("he sido hackeado, fui hackeado, me han hackeado"),
    }
)
