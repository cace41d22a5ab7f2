"""The function words of several languages: they carry no topic, and reveal the language."""

from __future__ import annotations

import re
from functools import cache

from chyme.text.unspaced_scripts import IDEOGRAPH

_ENGLISH = """
a about above after again against all also am an and any are aren't as at be because been before being below between
both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each either else even
ever every few for from further get gets getting go goes going gone got had hadn't has hasn't have haven't having he her
here here's hers herself him himself his how how's however i i'd i'll i'm i've if in into is isn't it it's its itself
just let let's may me might mine more most much must my myself neither no nor not now of off on once one only or other
our ours out over own perhaps quite rather s same she she's should shouldn't since so some still such t than that that's
the their theirs them themselves then there there's these they they'll they're they've this those though through to too
two under until up upon us very was wasn't we we'd we'll we're we've well were weren't what what's when where which
while who whom whose why will with within without won't would wouldn't yet you you'd you'll you're you've your yours
yourself
"""
_GERMAN = """
ab aber alle allem allen aller alles als also am an ander andere anderen anders auch auf aus bei beim bin bis bist da
dabei dafür dagegen daher damit danach dann daran darauf daraus darin darum darüber das dass davon dazu dein deine dem
den denn der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch eben ein eine einem
einen einer eines einfach einige einmal er es etwas euch euer eure für gab ganz gar gegen gehabt gerade gibt habe haben
habt hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in ins irgend ist ja jede
jedem jeden jeder jedes jetzt kann kein keine keinem keinen keiner können könnte machen mal man mehr mein meine meinem
meinen meiner mich mir mit muss müssen nach nachdem nicht nichts nie noch nun nur ob oder ohne schon sehr sein seine
seinem seinen seiner seit selbst sich sie sind so solche soll sollen sollte sondern sonst um und uns unser unsere
unserem unseren unter viel vom von vor wann war waren warum was weg weil weiter welche welchem welchen welcher wenn wer
werde werden wie wieder will wir wird wirst wo wohl wollen worden wurde wurden während würde würden zu zum zur zwar
zwischen über
"""
_FRENCH = """
ai aie ainsi alors après as au aucun aucune aussi autre autres aux avaient avais avait avant avec avez avoir avons
beaucoup bien c c'est car ce cela celle celles celui ces cet cette ceux chaque chez comme comment d d'accord d'un d'une
dans de depuis des deux devant doit donc dont du dès elle elles en encore entre es est et eu eux faire fait fois font
fut ici il ils j j'ai je jusque l la le les leur leurs lors lui là m ma mais me mes moi moins mon même mêmes n n'est ne
ni non nos notre nous on ont ou où par parce pas pendant peu peut peuvent plus pour pourquoi qu qu'il qu'on quand que
quel quelle quelles quels qui quoi s s'est sa sans se sera ses si sien soi soit sommes son sont sous sur t ta te tes toi
ton toujours tous tout toute toutes trop très tu un une va vais vers voilà vont vos votre vous vu y à étaient étais
était été êtes être
"""
_SPANISH = """
a ahora ahí al algo alguna algunas alguno algunos algún allí ante antes aquel aquella aquí así aunque aún bajo bien cada
casi como con contra cual cuando cuál cuándo cómo de del desde donde dos durante dónde e el ella ellas ellos en entre
era eran eres es esa esas ese eso esos estaba estaban estamos estar estas este esto estos estoy está están fue fueron ha
había han has hasta hay he hemos hoy la las le les lo los me menos mi mientras mis mismo mucho muy más mí nada ni no nos
nosotros nuestra nuestro o os otra otras otro otros para pero poco por porque pues que quien quién qué se sea según ser
si siempre sin sino sobre solo somos son soy su sus sí sólo también tampoco tan tanto te tener tengo ti tiene tienen
toda todas todo todos tras tu tus tú un una unas uno unos va vamos van voy y ya yo él
"""
_ITALIAN = """
a ad adesso ai al alcuni alla alle allo allora altra altri altro anche ancora avere aveva avevano avevo bene c'è che chi
ci circa ciò coi col come con cosa così cui da dai dal dalla dalle degli dei del dell della delle dello dentro di dopo
dove due e ed era erano ero essere fa fare fatto fino fra già gli ha hai hanno ho i il in invece io la le lei li lo loro
lui ma mai me meno mi mia mie miei mio molto ne negli nei nel nella nelle nessuno niente no noi non nostra nostro o ogni
ora per perché però più poco poi prima proprio può qua qual quale quali quando quanto quasi quella quelle quelli quello
questa queste questi questo qui quindi sarà se sei sempre senza si sia siamo siete solo sono sopra sotto sta stata stati
stato stesso su sua sue sugli sui sul sulla suo suoi sì tanto te ti tra troppo tu tua tuo tutta tutte tutti tutto un una
uno va vai vi via voi vostro è
"""
_DUTCH = """
aan al alle alleen als altijd andere anders ben bent bij daar daarom dan dat de deze die dit doe doen doet door dus echt
een eens eerst en er ergens even ga gaan gaat geen geweest had hadden heb hebben hebt heeft heel hem hen het hier hij
hoe hun iemand iets ik in is ja je jij jou jouw jullie kan kon kunnen maar maken meer men met mij mijn misschien moet
moeten mogen na naar nee niet niets nog nooit nou nu of om omdat onder ons onze ook op over pas per samen steeds te
tegen tijdens toch toen tot u uit uw van vanaf veel via voor waar waarom wanneer want waren was wat we weer wel welke
werd werden wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zoals zonder zou zouden
"""
_PORTUGUESE = """
a agora ainda algo algum alguma alguns ali além ante antes ao aos apenas aquela aquele aqueles aqui aquilo as assim até
bem cada com como da daqui das de dela dele deles depois desde dessa desse desta deste disso do dois dos e ela elas ele
eles em embora enquanto entre então era eram essa esse esta estamos estar estas estava este estes estou está estão eu
faz fazer fez foi for foram há isso isto já la lhe lhes lo logo lá mais mas me mesma mesmo meu meus minha minhas muito
muitos na nada nas nem nenhum nessa nesse nesta neste no nos nossa nosso num numa não nós o onde os ou outra outras
outro outros para pela pelas pelo pelos por porque pouco pra qual quando que quem quê se seja sem sempre ser será seu
seus si sim sobre sou sua suas só também tanto te tem temos tenho ter teu teve tinha toda todas todo todos tu tua tudo
têm um uma umas uns vai vamos você vocês vou vão à às é
"""
# Words that people fill their speech with: no function, and no topic either.
_FILLERS = {
    "en": """
        actually alright another anyway back basically big bit bye came come comes cool course day done exactly fine
        first good great guess guys hello hey hi huh kind kinda know last like literally little long look looking lot
        lots made make makes many maybe mean mhm need needs new next nice oh ok okay old part parts people please point
        pretty probably put really right said say saying see seem seems sense set small sort stuff sure take talk tell
        thank thanks thing things think thinking thought time today tomorrow try trying use used using want wanted wants
        way week whatever wow yeah yep yes yesterday
    """,
    "de": """
        ach ah also bisschen bitte brauchen braucht danke denke denken eigentlich frage fragen gehen geht gemacht genau
        gestern glaube gut gute guten hallo halt heute jawohl kommen kommt leute macht mag meine meinst mensch morgen
        möchte natürlich nee nein ok okay quasi sache sachen sag sage sagen sagt sozusagen stimmt stück super tag teil
        tja tschüss vielleicht weiß wirklich wissen woche zeit ziemlich
    """,
    "fr": """
        ah allez an ans aujourd'hui beaucoup ben besoin bon bonjour bref chose choses crois d'accord demain dernier
        dernière dire dis disons dit effectivement enfin euh faut genre gens grand grande hein hier jour juste merci
        mois nouveau nouvelle oh ok ouais oui pense petit petite peut-être plutôt premier première quelque quelques sais
        sait savez semaine temps truc trucs veut veux voilà voir vois vrai vraiment
    """,
    "es": """
        ah ayer año años buenas bueno buenos claro cosa cosas creo decir dice digamos digo día eh entonces gente gracias
        grande hace hacer hay hola hoy mañana mira necesito nueva nuevo oh ok okay oye parte primer primera pues quiere
        quiero quizás realmente sabe sabes sea semana tiempo tipo vale veces ver verdad vez último
    """,
    "it": """
        ah allora anni anno appunto beh bene bisogna boh buongiorno certo ciao cioè comunque cosa cose credo dice
        diciamo dico dire domani ecco eh forse gente giorno grande grazie ieri insomma magari mah nuova nuovo oggi oh ok
        okay parte penso praticamente prima primo sa sai settimana sì tempo tipo ultimo va vabbè vedere voglio volta
        vuole
    """,
    "nl": """
        ah bedankt beetje best dag dank deel denk ding dingen eerste eigenlijk gewoon gisteren goed goede groot grote
        hallo hoi hoor hè ja jaar jongens kijk laatste laten mensen morgen nieuw nieuwe nodig nou oh ok okay oké precies
        soort sowieso tijd vandaag week weet wel weten zeg zeggen zegt
    """,
    "pt": """
        acho ah amanhã ano anos aí boa bom certo claro coisa coisas dia digo diz dizer gente grande hein hoje nova novo
        né obrigada obrigado oh oi ok olá ontem parte pode pois precisa primeira primeiro quer quero sabe sei semana
        tempo tipo tá ver verdade vez último
    """,
}
_NUMBERS = {
    "en": "three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million",
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn zwölf zwanzig dreißig fünfzig hundert tausend",
    "fr": "trois quatre cinq six sept huit neuf dix onze douze vingt trente quarante cinquante cent mille millions",
    "es": "tres cuatro cinco seis siete ocho nueve diez once doce veinte treinta cuarenta cincuenta cien mil millones",
    "it": "tre quattro cinque sei sette otto nove dieci undici dodici quindici venti trenta quaranta cento mila mille",
    "nl": "twee drie vier vijf zes zeven acht negen tien elf twaalf vijftien twintig dertig honderd duizend miljoen",
    "pt": "três quatro cinco seis sete oito nove dez onze doze quinze vinte trinta quarenta cem mil milhões",
}
_FUNCTION_WORDS = {
    "en": _ENGLISH,
    "de": _GERMAN,
    "fr": _FRENCH,
    "es": _SPANISH,
    "it": _ITALIAN,
    "nl": _DUTCH,
    "pt": _PORTUGUESE,
}
# Also capitalised in the middle of a sentence, so they do not show where one begins.
_ALWAYS_CAPITAL = frozenset(
    {"i", "i'd", "i'll", "i'm", "i've", "sie", "ihnen", "ihr", "ihre", "ihrem", "ihren", "ihrer"}
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MIN_VOTES = 3  # matching function words needed to decide for a language
_LEAD = 1.5  # how much more often than in the next best language


@cache
def function_words(language: str | None) -> frozenset[str]:
    """In lower case, with straight apostrophes; empty for a language that is not listed here."""
    return frozenset(_FUNCTION_WORDS.get(language or "", "").split())


@cache
def empty_words(language: str | None) -> frozenset[str]:
    """Words that name no topic: function words and the fillers of speech."""
    code = language or ""
    return function_words(language) | frozenset(f"{_FILLERS.get(code, '')} {_NUMBERS.get(code, '')}".split())


def words_in(text: str) -> list[str]:
    """The words of a text in lower case, with straight apostrophes and without numbers."""
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


def begins_a_sentence(word: str, language: str | None) -> bool:
    """Whether this capitalised word must be at the beginning of a sentence, because elsewhere it has no capital."""
    plain = word.lower().replace("’", "'")
    small = function_words(language) if language == "de" else empty_words(language)  # German nouns are capitalised
    return word[:1].isupper() and plain in small and plain not in _ALWAYS_CAPITAL


def language_of(text: str) -> str | None:
    """The language of a text, among those listed here; None when that is not clear."""
    if IDEOGRAPH.search(text):
        return None
    words = words_in(text)
    votes = sorted(
        ((sum(word in function_words(code) for word in words), code) for code in _FUNCTION_WORDS), reverse=True
    )
    (best, winner), (next_best, _) = votes[:2]
    return winner if best >= _MIN_VOTES and best >= _LEAD * max(next_best, 1) else None
