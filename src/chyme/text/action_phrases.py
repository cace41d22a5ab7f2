"""Recognises requests for action and questions in sentences, by language."""

from __future__ import annotations

import re
from functools import cache

_TASKS = (
    "arrange|ask|book|bring|call|check|collect|contact|deliver|draft|e-?mail|find out|finish|fix|follow up|get back"
    "|handle|look into|order|organi[sz]e|pay|post|prepare|present|publish|report|review|schedule|send|set up|share|sign"
    "|submit|take care|talk to|test|update|write"
)
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|tonight|noon|next \\w+|the end of"
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
# Each pattern that matches counts one; a sentence with more matches is more likely to ask for action.
_ACTION_PATTERNS = {
    "en": (
        r"\b(?:we|you|i|he|she|they|someone|somebody) (?:really |also |still |then )?(?:needs?|have|has|ought) to\b",
        rf"\b(?:i|we|he|she|they|you)(?:'ll| will| shall|'m going to| are going to) (?:also |then )?(?:{_TASKS})\b",
        rf"\b(?:can|could|would|will) you (?:please )?(?:{_TASKS})\b",
        r"\bplease\b",
        r"\b(?:action items?|to-?do|follow-up|next steps?|deadline)\b",
        r"\b(?:make sure|don't forget|remember to|responsible for|let's (?:schedule|plan|set|book|send|ask|agree))\b",
    ),
    "de": (
        r"\b(?:wir|du|sie|ich|ihr|man|er) (?:\w+ )?(?:müssen|musst|muss|müsst|sollten?|solltest|sollen|brauchen)\b",
        r"\b(?:müssen|muss|sollten|sollte|sollen) (?:wir|du|sie|ich|ihr|man)\b",
        r"\bbitte\b",
        r"\b(?:ich|wir) (?:schick|schreib|kümmer|prüf|erledig|klär|organisier|übernehm|liefer|bereit)\w*",
        r"\b(?:nächsten? schritte?|aufgabe|to-?do|frist|nicht vergessen|zuständig|kümmer\w* (?:mich|dich|uns|sich))\b",
    ),
    "fr": (
        r"\b(?:il (?:faut|faudra|faudrait)|faut qu)",
        r"\b(?:on|nous|vous|tu|je|il|elle) (?:dois|doit|devons|devez|devrait|devrions|devra)\b",
        r"\b(?:s'il (?:vous|te) pla[îi]t|merci de)\b",
        r"\b(?:je|on|nous) (?:vais|va|allons) "
        r"(?:envoyer|écrire|appeler|vérifier|préparer|demander|organiser|contacter|réserver)\b",
        r"\b(?:prochaines? étapes?|reste à faire|n'oubli\w+ pas|échéance|responsable de)\b",
    ),
    "es": (
        r"\b(?:hay que|habrá que|ten(?:emos|go) que|tien(?:es?|en) que|debe(?:mos|s)|deberíamos|necesit(?:amos|o))\b",
        r"\bpor favor\b",
        r"\b(?:voy|vamos) a (?:enviar|mandar|escribir|llamar|revisar|preparar|preguntar|organizar|reservar)\b",
        r"\b(?:próximos? pasos?|tareas?|no olvid\w+|fecha límite|encargad\w+ de)\b",
    ),
    "it": (
        r"\b(?:dobbiamo|devo|devi|deve|devono|bisogna|occorre|dovremmo|dovrebbe)\b",
        r"\b(?:per favore|per piacere|mi raccomando)\b",
        r"\b(?:ti|vi|le) (?:mando|invio|scrivo|chiamo)\b",
        r"\b(?:prossimi passi|da fare entro|non dimentic\w+|scadenza|si occupa di)\b",
    ),
    "nl": (
        r"\b(?:we|wij|ik|je|jij|jullie|hij|zij|ze) (?:\w+ )?(?:moeten|moet)\b",
        r"\b(?:moeten|moet) (?:we|wij|ik|je|jij|jullie)\b",
        r"\b(?:alsjeblieft|alstublieft|graag)\b",
        r"\b(?:ik|we) (?:stuur|sturen|schrijf|bel|regel|controleer|zorg)\b",
        r"\b(?:volgende stap\w*|actiepunt\w*|niet vergeten|deadline|verantwoordelijk voor)\b",
    ),
    "pt": (
        r"\b(?:t(?:emos|enho|em|êm) (?:que|de)|é preciso|precis(?:amos|o|a) (?:de )?\w+|devemos|deveríamos)\b",
        r"\b(?:por favor|se faz favor)\b",
        r"\b(?:vou|vamos) (?:enviar|mandar|escrever|ligar|verificar|preparar|perguntar|organizar|marcar)\b",
        r"\b(?:próximos passos|tarefas?|não (?:se )?esque\w+|prazo|responsável por)\b",
    ),
    "zh": (
        r"需要|必须|必須|应该|應該|务必|務必",
        r"(?:请|請|麻烦|麻煩)(?!问|問)",
        r"之前|截止|下一步|[别別]忘了|[记記]得|[负負][责責]",
    ),
    "ja": (
        r"しなければ|する必要|しないと|すべき",
        r"お願いします|してください|しましょう",
        r"までに|締め切り|次のステップ|忘れずに|担当",
    ),
}
# A due date confirms that something is to be done; by itself it says nothing.
_DUE_DATE_PATTERNS = {
    "en": rf"\b(?:by|until|before|due) (?:{_DAYS}|{_MONTHS})\b",
    "de": r"\b(?:bis|vor|spätestens) (?:zum |ende |am |nächste\w* )*"
    r"(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|morgen|woche|monats?|ende|\d+\.)",
    "fr": r"\b(?:avant|d'ici|jusqu'à|pour) (?:le |la |à )?"
    r"(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|fin|semaine)",
    "es": r"\b(?:antes del?|para el|hasta el) (?:lunes|martes|miércoles|jueves|viernes|sábado|domingo|mañana|fin)",
    "it": r"\b(?:entro|prima di|per) (?:il |la )?"
    r"(?:lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|domani|fine|settimana)",
    "nl": r"\b(?:voor|vóór|uiterlijk|tegen) "
    r"(?:maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag|morgen|het eind|volgende)",
    "pt": r"\b(?:até|antes d[eao]) (?:a |o )?"
    r"(?:segunda|terça|quarta|quinta|sexta|sábado|domingo|amanhã|fim|final|próxim)",
}
_TAG_QUESTION = re.compile(
    r", ?(?:right|ok|okay|huh|no|yes|eh|you know|isn't it|oder|ja|ne|nicht wahr|gell|n'est-ce pas|non|hein|verdad|vale"
    r"|vero|giusto|toch|hè|né|certo|não é)\s?\?$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W_]+")
_MIN_WORDS = 4  # "right?", "you know?" and "does it?" ask nothing
_MIN_LETTERS = 6  # in scripts without spaces


@cache
def _action_patterns(language: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(cue, re.IGNORECASE) for cue in _ACTION_PATTERNS.get(language, ()))


def asks_for_action(sentence: str, language: str | None) -> int:
    """How many signs there are that someone is to do something; 0 for languages without patterns."""
    plain = " ".join(sentence.replace("’", "'").split())
    signs = sum(cue.search(plain) is not None for cue in _action_patterns(language or ""))
    date = _DUE_DATE_PATTERNS.get(language or "")
    return signs + bool(signs and date and re.search(date, plain, re.IGNORECASE))


def is_question(sentence: str) -> bool:
    """Whether it ends in a question mark and really asks something."""
    text = sentence.rstrip("\"'”»’)] ")
    if text.endswith("？"):
        return len(text) > _MIN_LETTERS
    return text.endswith("?") and len(_WORDS.findall(text)) >= _MIN_WORDS and not _TAG_QUESTION.search(text)
