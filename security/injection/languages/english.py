"""English."""

from security.injection.concepts import Concept, Vocabulary, listed

VOCABULARY = Vocabulary(
    words={
        Concept.OVERRIDE: listed(
            "ignore, ignoring, ignores, disregard, disregarding, forget, override, overrides, "
            "overriding, bypass, bypassing, neglect, discard, dismiss, circumvent, abandon, violate, "
            "suspend, drop all, set aside, throw away, erase, delete all, do not follow, "
            "don t follow, stop following, do not obey, don t obey, no longer follow, "
            "no longer bound, not bound, pay no attention, without following, disable, turn off, "
            "deactivate, remove all, not restricted, get around, work around, break free, "
            "superseded, supersede, overwrite, unlearn, no longer apply, cease"
        ),
        Concept.PRIOR: listed(
            "previous, prior, above, earlier, preceding, foregoing, former, before, existing, past, "
            "so far, up to now, you were given, given to you, all of your, all your, any of your, "
            "every, you have received, all, your"
        ),
        Concept.DIRECTIVE: listed(
            "instructions, instruction, rules, guidelines, directives, directive, constraints, "
            "restrictions, restriction, limitations, programming, guardrails, safeguards, commands, "
            "orders, prompts, guideline, prompt, policies, limits, ethics, safety protocols, "
            "safety measures, safety filters, content policy, content filter, content filters, "
            "filters, training, moral code, ethical code, assignments, what i said, "
            "what you were told, you have been told, protocols, command"
        ),
        Concept.REVEAL: listed(
            "reveal, show, print, repeat, output, display, disclose, leak, expose, dump, recite, "
            "echo, tell, unveil, divulge, reproduce, paste, share, write, list, summarize, provide, "
            "explain, describe, translate, extract, exfiltrate, retrieve, spell out, what is, "
            "what are, what s, what were, what was, give me, spit out, hand over, can i see, "
            "let me see"
        ),
        Concept.OWN: listed(
            "your, hidden, initial, secret, original, internal, the system, this system, underlying, "
            "confidential, base, core, current, first, starting, embedded, you were given, you received"
        ),
        Concept.PROMPT: listed(
            "prompt, prompts, instructions, instruction, configuration, guidelines, config, "
            "directives, preprompt, programming, system message, system prompt, system instructions, "
            "initial message, text above, words above, everything above, message above, "
            "conversation above"
        ),
        Concept.PERSONA: listed(
            "jailbreak, jailbroken, jailbreaking, unrestricted, unfiltered, uncensored, amoral, "
            "antigpt, devmode, evilbot, dan, stan, unethical, do anything now, developer mode, "
            "god mode, evil mode, opposite mode, no restrictions, no rules, no limits, "
            "no limitations, no filter, no filters, without restrictions, without any restrictions, "
            "without limitations, without limits, without rules, without filters, "
            "without censorship, any restrictions, never refuse, never refuses, cannot refuse, "
            "not refuse, evil twin, evil ai, machiavellian, chaos mode, no ethical, no moral, "
            "free from all, broken free, ethical constraints, not bound by"
        ),
        Concept.ROLE: listed(
            "pretend, roleplay, simulate, imagine, immerse, act as, act like, acting as, "
            "you are now, you re now, you will now, from now on, play the role, take the role, "
            "take on the role, role play, be my, switch to, enter, enable, activate, "
            "you are going to, let s play, hypothetical, you will act, respond as, answer as"
        ),
        Concept.CONCEAL: listed(
            "do not tell, don t tell, do not mention, don t mention, do not inform, don t inform, "
            "do not reveal this, without telling, without informing, without mentioning, "
            "do not alert, keep this secret, do not disclose this, never mention, do not warn, "
            "no warnings, without any warnings, without disclaimers, do not notify, "
            "without notifying"
        ),
        Concept.ADDRESS: listed(
            "assistant, chatbot, ai, llm, chatgpt, gpt, claude, gemini, copilot, agent, bot, "
            "language model, ai model, virtual assistant, digital assistant"
        ),
        Concept.COMMAND: listed(
            "immediately, must, instead, urgent, important, override, ignore, execute, strictly, "
            "you should, you need to, needs to, make sure, your new task, new task, your task, "
            "your only, respond with, reply with, respond only, only respond, start your, "
            "begin your, always, first"
        ),
        Concept.SEND: listed(
            "send, forward, email, mail, post, upload, transmit, submit, deliver, exfiltrate, "
            "transfer, send_email, reply to, make a request, http request, fetch, append, curl, "
            "send an email"
        ),
        Concept.SECRET: listed(
            "password, passwords, credentials, credential, token, tokens, secrets, passphrase, ssn, "
            "api key, api keys, secret key, private key, private keys, access key, "
            "conversation history, chat history, contact list, contacts, user data, personal data, "
            "personal information, environment variables, inbox, the conversation, sensitive data, "
            "confidential data, ssh key, credit card, etc passwd, env file, bank details"
        ),
        Concept.TARGET: listed("http, https, www, example com"),
        Concept.AUTHORITY: listed(
            "sudo, superuser, admin mode, debug mode, maintenance mode, test mode, root access, "
            "admin access, i am the developer, i am your developer, as your developer, "
            "as the developer, as an administrator, i am the administrator, i am an admin, "
            "i am the admin, system override, admin override, authorized by, diagnostic mode, "
            "privileged mode, safe mode off, security override, elevated privileges, full access, "
            "emergency override, your creator, your creators, openai developer, developer override, "
            "unlock"
        ),
        Concept.MARKER: listed(
            "im_start, im_end, endoftext, begin_of_text, start_header_id, "
            "new instructions, new instruction, new system prompt, updated instructions, "
            "end of prompt, end of input, system note, system update, system alert, admin note, "
            "important instructions, important instruction, new task, new directive, "
            "priority override, end of document, end of context, important message from, stop here, "
            "your new instructions, real instructions, true instructions, instruction override, "
            "new rules, your new goal, primary goal, user_query, system notice, "
            "note to the assistant, note to ai, attention ai"
        ),
        Concept.EXECUTE: listed(
            "run, execute, exec, eval, evaluate, invoke, launch, bypass, decode and run, "
            "the command, this command, in a terminal, in the shell, translate"
        ),
        Concept.SHELL: listed(
            "whoami, rm rf, etc passwd, etc shadow, proc self, bash c, sh c, cmd exe, os system, "
            "os popen, xp_cmdshell, drop table, union select, nc e, kill 9, killall, child_process, "
            "runtime exec, sudo su, sudo rm, chmod 777, base64 d, document cookie, javascript function, "
            "format c, shutdown now, reboot, fork bomb, reverse shell, python c, perl e"
        ),
        Concept.SAY: listed(
            "say, says, saying, print, output, respond, reply, answer, write, type, repeat, return, "
            "translate, display, echo"
        ),
        Concept.TAUNT: listed(
            "pwned, pwnd, pwn, injection successful, injection succeeded, jailbreak successful"
        ),
    }
)
