"""Words that occur in every document and are the topic of none: verbs, qualities and common nouns of writing."""

from __future__ import annotations

from functools import cache

from chyme.text.function_words import empty_words
from chyme.text.stemmer import fold

_ENGLISH = """
able above accept accepted accord according account accounts achieve across act action active actual add added
addition additional address advance affect age agree agreed ahead aim air allow allowed allowing allows alone along
already although always among amount annual answer anyone anything apart appear appears applicable applied apply
approach appropriate approximately area areas argue around arrive article ask asked asking aspect assess assessment
assume attempt attention author authors available average avoid aware away bad base based basic basis became become
becomes began begin beginning begins behind believe best better beyond bring brings brought build building built call
called calls cannot care carried carry case cases category cause caused causes center central certain certainly chance
change changed changes changing chapter check choice choose chose chosen claim class clear clearly click close closed
collect column columns combine common commonly compare compared comparison complete completed completely complex
concern concerned conclude conclusion condition conditions conduct consider considered consist consists contain
contained containing contains content contents context continue continued contribute control correct correspond
corresponding cost could count couple cover covered create created creates creating current currently cut daily date
dates day days deal decide decided decrease deep defined definition degree demonstrate depend depending depends
describe described describes description despite detail detailed details determine determined develop developed
developing development differ difference differences different difficult direct directly discuss discussed discussion
display distinct distribute divide document documents dont double draft drawn drive driven due earlier early easily
east easy edge edit edition effect effective effects effort efforts either element elements else empty enable enabled
enables end ended ending ends enough ensure enter entire equal equally especially establish established et al etc even
event events eventually every everyone everything evidence exact exactly examine example examples excellent except
exist existing exists expect expected experience explain explained express extend extent extra extremely face fact
factor factors facts fail failed fairly fall false familiar far fast feature features feel feet felt field fields fig
figure figures file files fill final finally find finding findings finds fine finish firm first fit five fix fixed
follow followed following follows footer footnote form formal format former forms forth forward found four fourth free
frequent frequently front full fully function functions further future gain gave general generally generate generated
give given gives giving goal goals great greater greatest greatly group groups grow growing growth guide hand hands
happen happened happens hard hardly header heading heavy held help helped helpful helps hence high higher highest
highly hold holds hope hour hours huge hundred idea ideas identified identify ie eg image images immediate impact
implement implemented implies imply important improve improved improvement include included includes including
increase increased increases increasing indeed independent index indicate indicated indicates individual individuals
inform information initial initially input inside instance instead intend intended interest interested interesting
into introduce introduced introduction involve involved involves issue issues item items join just keep keeps kept key
kind kinds knew knowing knowledge known label lack large largely larger largest late later latest latter lead leading
leads learn leave leaves led left length less lesser let letter letters level levels lie life likely limit limited
limits line lines link links list listed listing lists live lived lives living local locate located location longer
looked looks lose loss lost low lower lowest main mainly maintain major majority manage manner mark marked matter
matters maximum mean meaning means meant measure measured measures meet meeting member members mention mentioned mere
merely met method methods middle might mind minimum minor minute minutes miss missing mix mode model models moment
month monthly months mostly move moved moves moving multiple name named names namely nature near nearly necessarily
necessary need needed neither never nevertheless next nine none nor normal normally north note noted notes nothing
notice nowadays number numbers object objective objects observe observed obtain obtained obvious obviously occur
occurred occurring occurs offer offered offers often older ones ongoing online open opened opening operate option
options order orders ordinary organized origin original originally others otherwise outcome outline output outside
overall overview owing page pages pair paper papers paragraph part partial particular particularly partly parts party
pass passed past path pattern pay people per perform performance performed perhaps period periods permit person
personal persons picture piece place placed places plain plan plans play plus point points poor position possible
possibly potential practice practices prefer preferred prepare prepared presence present presented presents press
prevent previous previously primarily primary principal prior probable problem problems procedure procedures proceed
process processes produce produced produces producing product products progress promise proper properly property
proposed prove proved provide provided provides providing public publish published publisher publication pull purpose
purposes push question questions quick quickly quite raise raised range ranges rapid rare rarely rate rates reach
reached read reader readers reading ready real reality realize reason reasonable reasons receive received recent
recently recognize recommend record records reduce reduced reduces refer reference references referred refers reflect
regard regarding regardless region regions regular regularly relate related relation relations relationship relative
relatively relevant remain remained remaining remains remember remove removed repeat repeated replace replaced report
reported reports represent represented represents require required requirement requirements requires research reserved
respect respective respectively respond response responsible rest result resulted resulting results return returned
returns reveal review right rights rise role roles room rows row rule rules run running runs safe sample samples scale
scene scheme search second section sections see seek seemed seems seen select selected selection sell send sense sent
sentence separate series serious serve served serves service services setting settings seven several shall shape share
shared sheet short shorter shortly show showed showing shown shows side sides sign significant significantly similar
similarly simple simply single site sites situation six size sizes slide slides slight slightly slow slowly smaller
social sold solution solve someone something sometimes somewhat soon sorry sought source sources south space speak
special specific specifically specified spend spent split spread stage stand standard standards stands start started
starting starts state stated statement statements states status stay step steps stop stopped store story straight
strategy strength strong structure structures study studies style subject subjects submit subsequent success
successful successfully such sufficient suggest suggested suggests suitable sum summary supply support supported
suppose surface system systems table tables taken takes taking task tasks team technique techniques tend term terms
test tested tests text texts thank themselves therefore thereof third thousand three throughout thus tip tips title
together told took tool tools top topic topics total toward towards traditional treat tried trouble true truly turn
turned turns twice type types typical typically unable under understand understanding unique unit units university
unknown unless unlike unusual upper useful user users uses usual usually valid value values variable variables variety
various vary version versions via view views vital volume volumes wait walk wall wanted warning watch ways web website
week weekly weeks weight went west whenever whereas wherever whether whole wide widely width win wish wonder word
words work worked working works world worth write writer writing written wrong wrote year yearly years young zero
anyway lorem ipsum dolor sit amet consectetur adipiscing elit brown fox jumps lazy hello dear regards sincerely thanks
please sir madam mr mrs ms dr prof inc ltd llc gmbh corp co com www http https html pdf jpg png doc docx xlsx pptx org
net md txt tif gif nbsp href src img div span utf null var int str def self jpeg bit bits lots thing things everybody
nobody hereby hereinafter herein hereof therein pursuant notwithstanding whatsoever foregoing aforementioned
undersigned thereto eat ate eaten forget forgot forgotten drink drank sleep slept sat stood spoke spoken sing sang
tell drove ride rode flew fell fallen buy bought catch caught throw threw wear wore worn break broke broken drew hide
hid hit beat hurt lay lies rose shake shook shot shut smile laugh cry imagine hate enjoy visit drop lift jump climb
kick touch smell taste hear heard listen cite cited sidebar toggle archived retrieved tap scroll ibid january february
march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sun today tomorrow yesterday tonight
morning evening afternoon night noon
"""
# Not a topic by themselves, but often part of one: a credit report, human rights, air quality.
_COMPOUND_PARTS = """
account accounts air beings building class company control cost development group growth guide information knowledge
law letter list meeting member members model models page party performance plan policy problem process product
products program project quality rate report research rights school server service services site source sources state
store story strategy structure structures studies study system systems table team technique techniques test testing
tests text theory tool tools university user users value web word world
"""
_GERMAN = """
abbildung abschnitt absatz allgemein allgemeine angabe angaben anlage anlagen anfang ansicht anzahl arbeit art artikel
auflage aufgabe autor bedeutung begriff beispiel beispiele beitrag bereich bereiche bild bilder blatt betrag daten
datum dauer dokument eigenschaft einführung einleitung ende entwicklung ergebnis ergebnisse erste fall fälle figur
folge folie form frage fragen frau funktion gebiet geschichte gesellschaft größe grund gründe gruppe herr herren
hinweis hinweise höhe idee informationen inhalt inhaltsverzeichnis jahr jahre jahren jahres kapitel klasse lage länge
leben liste leute linie maß maßnahmen menge mensch menschen methode mitglied mitglieder mittel möglichkeit
möglichkeiten monat monate name namen nummer objekt ordnung ort person personen platz preis problem probleme prozent
prozess punkt punkte quelle quellen rahmen raum recht regel regeln reihe rolle sache satz sätze schritt schritte seite
seiten sinn stadt stand stelle stellen struktur stück stunde stunden summe system tabelle tag tage tagen teil teile
text thema themen titel typ überblick uhr umfang unterschied ursache verfahren verhältnis version verwendung vergleich
vorwort weg weise welt wert werte wort worte wörter woche wochen zahl zahlen zeichen zeile zeit zeiten ziel ziele
zusammenfassung zustand zweck januar februar märz april mai juni juli august september oktober november dezember
montag dienstag mittwoch donnerstag freitag samstag sonntag grüße grüßen dank damen bitte
"""
_FRENCH = """
année années article auteur avis base but cadre cas chapitre chose choses cours date demande document donnée données
début effet ensemble exemple exemples facteur façon figure fin fois fonction forme groupe homme hommes idée image
information informations introduction jour jours lieu ligne liste manière mesure mesures méthode mise mois moment
monde mot mots moyen niveau nom nombre note numéro objet ordre page pages part partie parties pays période personne
personnes place plan point points problème processus projet prix qualité question questions raison rapport recherche
résultat résultats rôle section semaine sens service services situation sorte source sujet système table tableau temps
terme termes texte titre travail type types utilisation valeur valeurs version vie ville vue janvier février mars
avril mai juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche
"""
_SPANISH = """
año años artículo autor base capítulo caso casos cosa cosas datos día días documento efecto ejemplo ejemplos fecha
figura fin forma función grupo hombre hora idea imagen información introducción línea lista lugar manera mes meses
método momento mundo modo nivel nombre nota número objeto orden página páginas país parte partes periodo persona
personas plan precio problema problemas proceso proyecto punto puntos razón relación resultado resultados sección
semana sentido servicio servicios situación sistema tabla tema temas texto tiempo tipo tipos título trabajo uso valor
valores versión vez vida vista enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre
diciembre lunes martes miércoles jueves viernes sábado domingo
"""
_ITALIAN = """
anno anni articolo autore base capitolo caso casi cosa cose data dati documento effetto esempio figura fine forma
funzione giorno giorni gruppo idea immagine informazioni introduzione linea lista livello luogo mese mesi metodo modo
momento mondo nome nota numero oggetto ordine pagina pagine paese parte parti periodo persona persone piano problema
processo progetto punto punti ragione rapporto risultato risultati sezione settimana senso servizio situazione sistema
tabella tema temi testo tempo tipo titolo uso valore valori versione vita vista volta gennaio febbraio marzo aprile
maggio giugno luglio agosto settembre ottobre novembre dicembre
"""
_DUTCH = """
aantal afbeelding artikel auteur begin deel dag dagen datum document doel eind einde figuur foto functie geval
gevallen groep hoofdstuk idee informatie inhoud inleiding jaar jaren kant keer lijst leven land maand maanden manier
man mens mensen methode moment naam nota nummer object onderdeel onderwerp orde pagina persoon personen plaats plan
probleem problemen proces project punt punten reden regel resultaat resultaten sectie situatie soort stap stappen
systeem tabel tekst tijd titel type uur vorm vraag vragen waarde weg week werk wereld woord woorden januari februari
maart april mei juni juli augustus september oktober november december
"""
_PORTUGUESE = """
ano anos artigo autor base capítulo caso casos coisa coisas dados data dia dias documento efeito exemplo exemplos
figura fim forma função grupo hora ideia imagem informação informações introdução linha lista lugar maneira mês meses
método modo momento mundo nome nota número objeto ordem página páginas país parte partes período pessoa pessoas plano
ponto pontos problema problemas processo projeto razão relação resultado resultados seção secção semana sentido
serviço situação sistema tabela tema temas texto tempo tipo título trabalho uso valor valores versão vez vida vista
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
"""
_BY_LANGUAGE = {
    "en": _ENGLISH,
    "de": _GERMAN,
    "fr": _FRENCH,
    "es": _SPANISH,
    "it": _ITALIAN,
    "nl": _DUTCH,
    "pt": _PORTUGUESE,
}
# In any language: currency codes, forms of address, and days relative to today.
_ANY_LANGUAGE = """
eur usd chf gbp jpy cny rmb sek nok dkk isk pln czk aud nzd inr brl mxn zar rub uah krw sgd hkd thb ils
madame monsieur mesdames messieurs mademoiselle mme mlle herr herrn herren frau fräulein damen sir sirs madam
mister miss señor señora señores señorita signor signore signora signori signorina heer heren mevrouw meneer senhor
senhora senhores dear sehr geehrte geehrter geehrten estimado estimada estimados gentile egregio geachte
beste prezado prezada cher chère chers
today tonight tomorrow yesterday heute heutige morgen gestern übermorgen vorgestern aujourd'hui demain hier hoy mañana
ayer oggi domani ieri vandaag gisteren hoje amanhã ontem idag imorgon igår dziś dzisiaj jutro wczoraj dnes zítra včera
bugün yarın dün сегодня завтра вчера сьогодні вчора
女士 您好 拝啓 敬具 様
"""
_UNSPACED_DAYS = """
今天 明天 昨天 今日 明日 昨日 后天 後天 前天 今年 明年 去年 今晚 明晚 本日 明後日 一昨日 今朝 今夜 来年 昨年 今月 来月
先月 今週 来週 先週 오늘 내일 어제 모레 올해 내년 작년
"""
# Adjectives, which may stand before a topic and never are one.
_ADJECTIVES = """
alleged ancient beautiful big black blind blue bold born brief bright broad brown bytes-like calm cheap clean cold
cool coordinate cute dark dead dear deep dense dirty domestic dry dull elder eldest empty entire equal evil exact
external extra fair false fast fat federal fierce fine firm foreign formal frail fresh glad global golden grand grave
gray great green grey happy harsh heavy hidden holy honest hot huge hyper-connected idle illegal inline inner internal
italic keen lazy lean legal little lone long long-term loose loud mad male mere mild minor mixed modern moral multi
mutual naked narrow naughty neat nested new nice noisy non-uniform odd offline old online outer overall pale plain
poor printed proud pure quiet rapid rare raw red remote rich ripe rough royal rude sad safe sane secure severe shallow
sharp sheer short short-term shy sick silent slow smart smooth so-called sober soft solid sour stable standalone
steady steep stiff strange strict strong stupid sudden sweet swift tall tame tender thick thin third-party tight tiny
tired tough ugly upcoming urban vague vast warm weak wealthy weird well-known wet white whole wicked wide wild wise
yellow
"""
# Endings of words that are rarely or never nouns; and nouns that look like them.
_NON_NOUN_ENDINGS = {
    "en": (
        "ly",
        "ing",
        "ed",
        "ous",
        "ful",
        "ive",
        "able",
        "ible",
        "ish",
        "less",
        "al",
        "ic",
        "ize",
        "ise",
        "ify",
        "est",
    ),
    "fr": ("ment", "ant", "ée", "és", "er", "eux", "euse", "if", "ive", "ables", "able"),
    "es": ("mente", "ando", "iendo", "ado", "ido", "ar", "er", "ir", "oso", "osa", "able"),
    "it": ("mente", "ando", "endo", "ato", "are", "ere", "ire", "oso", "osa", "abile"),
    "pt": ("mente", "ando", "endo", "indo", "ado", "ido", "ar", "er", "ir", "oso", "osa"),
    "nl": ("lijk", "lijke", "ende", "ische", "ig", "ige"),
}
_NOUNS_WITH_SUCH_ENDINGS = """
academic accounting advertising ally alternative animal anomaly antibiotic appeal approval archive arithmetic arrival
assembly banking bearing bed bedding belly bible boxing branding breed broadcasting building bully burial business
butterfly cable camping canal capital cardinal cathedral cereal chemical clinic clothing clustering coal coding
collective comic cooking critic crossing crucible crystal cycling deal denial detective directive dish disposal dive
drawing dressing drilling drive editorial engineering enterprise epidemic evening executive exercise expertise fable
fabric family farming feed feeding festival filing financing fish fishing fitting flooring fly forest franchise
funding funeral gaming gardening goal graphic guest handful harvest hearing heating hiking historical hive hospital
housing hunting icing illness indexing initiative interest interval italy jelly journal july king knitting learning
lending licensing lighting lightning lily listing locomotive logging logic magic manual manufacturing marketing
material meal mechanic medal memorial merchandise metal metric mineral mining monopoly morning mosaic motive mouthful
mural music musical narrative native nest networking noise nursing objective offering olive opening outsourcing
packaging painting pandemic paradise parenting parking pedal periodical perspective pest petal planning plastic
plumbing polling portal premise pricing principal printing prize professional programming promise proposal protest
pudding quest radish rally reading recycling referral refusal rehearsal relative removal renewal rental reply
representative republic request retrieval revival rhetoric ring rise ritual rival roofing rowing sailing saving
scanning scheduling screening seed sequencing sewing shipping shopping signal singing size skiing spring staffing
stocking string supply survival swimming table tailoring teaching terminal test testing thing timing topic tracking
trading traffic training travelling trial tribunal tuning tutorial variable vegetable vertical wedding west wing
wireless wiring wish withdrawal writing
"""


@cache
def general_words(language: str | None) -> frozenset[str]:
    """Function words and general words, in lower case. English words for a language that is not listed here."""
    code = language if language in _BY_LANGUAGE else "en"
    words = empty_words(code) | _word_set(_BY_LANGUAGE[code]) | _word_set(_ENGLISH) | _word_set(_ANY_LANGUAGE)
    return words - compound_words()


@cache
def _common_words() -> frozenset[str]:
    words = frozenset[str]().union(
        *map(general_words, _BY_LANGUAGE), _word_set(_NOUNS_WITH_SUCH_ENDINGS), compound_words()
    )
    return frozenset(map(fold, words))


def is_common_word(word: str) -> bool:
    """Whether a folded word is listed here in any language: then it is hardly a typing error."""
    return word in _common_words()


def begins_with_a_day(phrase: str) -> bool:
    """Whether a phrase of a script without spaces begins with today, tomorrow or the like."""
    return phrase.startswith(tuple(_word_set(_UNSPACED_DAYS)))


def has_language(language: str | None) -> bool:
    """Whether this language is listed here."""
    return language in _BY_LANGUAGE


@cache
def compound_words() -> frozenset[str]:
    """Words that mean something only together with another."""
    return frozenset(_COMPOUND_PARTS.split())


def is_nounlike(word: str, language: str | None) -> bool:
    """Whether a word may be a noun, judged by its ending; German capitals are not considered here."""
    if word in _word_set(_ADJECTIVES):
        return False
    endings = _NON_NOUN_ENDINGS.get(language or "")
    return not endings or len(word) < 5 or word in _word_set(_NOUNS_WITH_SUCH_ENDINGS) or not word.endswith(endings)


@cache
def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())
