"""Words in and beside dates: the names of the months, and labels that say what a date is the date of."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from chyme.text.word_lists import WordList

MONTHS = WordList(__package__, "months")
SHORT_MONTHS = WordList(__package__, "short_months")


def _fold(word: str) -> str:
    """The word in lower case without accents, which capitals and bad scans lose."""
    decomposed = unicodedata.normalize("NFKD", word.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


@cache
def _month_table(full: bool) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for language, lines in (MONTHS if full else SHORT_MONTHS).sections.items():
        for month, forms in enumerate(" ".join(lines).split(), 1):
            for form in forms.split("|"):
                if form != "-":
                    table.setdefault(_fold(form), {})[language] = month
    return table


def month_of(word: str, language: str | None, strict: bool = False) -> int | None:
    """The month a word names. `strict`: only in the text's language or English, where Mars 2020 is a spacecraft."""
    plain = _fold(word)
    full = _month_table(full=True).get(plain, {})
    known = _month_table(full=False).get(plain, {}) | full
    if not known:
        return None
    base = (language or "").split("-")[0].replace("nb", "no").replace("nn", "no")
    if base in known:
        return known[base]
    if language is not None and "en" not in known and (strict or not full):
        return None  # short names are other words elsewhere: lip, out, set
    months = set(known.values())
    return months.pop() if len(months) == 1 else None


# Labels of the document's date.
_DOCUMENT_WORDS = r"""
(?:invoice|issue|issuing|billing|bill|letter|document|receipt|order|publication|posting)\s{0,2}dates?
| (?:report|statement|transaction|purchase|filing|revision|release)\s{0,2}dates?
| dated? | dated\sas\sof | date\sof\s(?:issue|invoice|this\sletter|report|publication) | issued(?:\son)?
| published(?:\son(?:line)?)? | reported | posted(?:\son)?
| (?:last\s)?updated?(?:\son)? | released(?:\son)? | last\s(?:modified|revised|edited)
| written(?:\son)? | sent | signed(?:\son|\sthis)? | executed(?:\son)? | dated\sthis | made\s(?:on\s)?this
| made\sand\sentered\sinto(?:\s(?:on|as\sof|this))? | created(?:\son)? | revised | as\sof | submitted
| received | filed | edition | auflage
| datum | rechnungsdatum | belegdatum | briefdatum | ausstellungsdatum | druckdatum
| erstellt(?:\sam)? | ausgestellt(?:\sam)? | veröffentlicht(?:\sam)? | aktualisiert(?:\sam)? | stand
| (?:rechnung|bescheid|schreiben|brief)\svom | gesendet | unterzeichnet(?:\sam)?
| unterschrieben(?:\sam)? | firmad[ao](?:\sel)? | firmat[ao](?:\sil)? | ondertekend(?:\sop)?
| date\s(?:de\sla\s)?(?:facture|d['’]émission|de\sfacturation|de\spublication)
| (?:émise?|publiée?|établie?|mise?\sà\sjour|fait|signée?)\sle | le | fait\sà\s\w{2,30},?\sle | fecha
| fecha\sde\s(?:emisión|factura|expedición|publicación) | publicado(?:\sel)? | emitid[ao](?:\sel)?
| actualizado(?:\sel)? | data
| data\s(?:fattura|emissione|documento|di\semissione|da\sfatura|de\semissão)
| data\s(?:wystawienia|publikacji|sporządzenia|dokumentu)
| emess[ao]\sil | pubblicat[ao]\sil | aggiornat[ao](?:\sil)? | li | lì | emissão | emitid[ao]\sem | publicado\sem
| atualizado\sem | factuurdatum | datum\svan\suitgifte | gepubliceerd(?:\sop)? | bijgewerkt(?:\sop)?
| opgesteld(?:\sop)? | wystawiono | dnia | dn\. | opublikowano | z\sdnia | fakturadatum | publicerad | uppdaterad
| fakturadato | dato | udgivet | opdateret | publisert | oppdatert | utstedt | päivämäärä | pvm | päiväys
| laskun\späivä(?:ys|määrä) | julkaistu | päivitetty | dne | vystaveno | datum\svystavení | zveřejněno | dátum
| дата | дата\s(?:выдачи|выставления|составления|документа|публикации|створення) | от | опубликовано | обновлено
| від | опубліковано | оновлено | tarih | tarihi | fatura\starihi | düzenleme\starihi | yayınlan\w{0,5}
| data\semiterii | din\sdata | kelt | dátuma | ημερομηνία | tanggal | التاريخ | تاريخ | ngày
"""
# Labels of other dates: payment, birth, validity, service, quotations of other things.
_OTHER_WORDS = r"""
due | payable | pay(?:ment)?\sby | payment\sdate | pay\sbefore | deadline | expir\w{1,6} | valid\s(?:un)?til\w?
| valid\s(?:from|through|thru|to) | until | till | best\sbefore | born | birth\w{0,6} | date\sof\sbirth
| d\.?o\.?b | died | death | since | founded | established | accessed | retrieved | delivery
| shipp(?:ed|ing) | deliver(?:y|ed) | arrival | departure | check[-\s]?(?:in|out) | period | from | between
| renew\w{0,4} | next | previous | start(?:s|ing|ed)? | end(?:s|ing|ed)? | begins? | before | after | hire\sdate
| closing | service\sdate | copyright | due\sdate | fällig\w{0,10} | zahlbar | zahlungsziel | zahlungstermin
| gültig | bis | spätestens | geb | geboren | geburtsdatum | geburtstag | gestorben | seit | frist
| liefer(?:datum|termin|ung)\w{0,3} | leistungs(?:datum|zeitraum|zeit) | abgerufen | zugriff | zeitraum
| ablauf\w{0,6} | \w{0,14}beginn | ende | ab | in\skraft | bestelldatum | wertstellung | échéance | exigible | à\spayer
| avant\sle | valable | jusqu['’]au | expire\w{0,2} | née?\sle | naissance | depuis | livraison
| consulté\w{0,2}\sle | du | au | entrée\sen\svigueur | vencimiento | vence | válid[ao] | hasta | nacid[ao]
| nacimiento | caduc\w{2,6} | entrega | desde | antes\sdel | scadenza | scade | entro | nat[ao]\sil | nascita
| valid[ao]\sfino | fino\sal | consegna | dal | al | vencimento | vence\sem | até | nascid[ao] | nascimento
| validade | prazo | vervaldatum | vervalt | uiterlijk | geldig | tot | geboortedatum | leverdatum | vanaf
| betaaldatum | termin | termin\spłatności | płatne\sdo | ważn\w{1,3}\sdo | urodzon\w | ur | data\surodzenia
| data\ssprzedaży | od\sdnia | förfall\w{0,9} | förfallodatum | giltig\w{0,3} | född\w? | senast | forfald\w{0,6}
| forfall\w{0,5} | født | gyldig | senest | leveringsdato | eräpäivä | viimeistään | syntynyt | syntymäaika
| voimassa | toimituspäivä | splatnost\w? | splatné | platnost\w? | narozen\w? | datum\snarození | zdanitelného
| срок | оплатить\sдо | действ\w{3,9}\sдо | до | родил\w{1,3} | рождения | г\.?\s?р | термін | сплатити\sдо
| народ\w{3,9} | дійсн\w{1,3} | son\södeme | vade | geçerli\w{0,3} | doğum | fizetési\shatáridő | határidő
| született | scadent\w{0,3} | născut\w{0,2} | jatuh\stempo | lahir
"""
_DOCUMENT_WORDS_CJK = (
    r"日期|日付|日時|発行日?|發行|发行|发布|發佈|發布|公開日?|更新|作成日?|请求日|請求日|开票|開立|填表"
    r"|签署|簽署|掲載|投稿|작성일?|발행일?|날짜|일자|등록일?|게시일?"
)
_OTHER_WORDS_CJK = (
    r"期限|截止|次回|有效|到期|支払|納期|生年月日|出生|生日|誕生|締切|満期|交付日|失效"
    r"|만료|생년월일|납부|마감|유효|기한"
)


def _alternatives(pattern: str) -> str:
    return "|".join(sorted(" ".join(pattern.split()).split(" | "), key=len, reverse=True))  # longest first


DOCUMENT_DATE_WORDS = re.compile(rf"(?<!\w)(?:{_alternatives(_DOCUMENT_WORDS)})(?!\w)|{_DOCUMENT_WORDS_CJK}")
OTHER_DATE_WORDS = re.compile(rf"(?<!\w)(?:{_alternatives(_OTHER_WORDS)})(?!\w)|{_OTHER_WORDS_CJK}|†|✝")
WEAK_DATE_WORDS = re.compile(
    r"order|purchase|transaction|received|submitted|druck|created|revis|updat|modif|edited|aktual|更新"
)  # not when it was written
BIRTH_SIGN = re.compile(r"[\s(]\*\s?$")  # * 3. April 1950, as genealogists write
# After a date: 2026年4月3日发布, 3. April 2026 (aktualisiert).
TRAILING_DATE_WORDS = re.compile(
    rf"[\s(]{{0,2}}(?:付け?|現在|{_DOCUMENT_WORDS_CJK}|published|posted|updated|aktualisiert|veröffentlicht)"
)
TRAILING_BIRTH_WORDS = re.compile(r"\s?(?:生まれ|出生|生(?![成效产産])|born)")
# The beginning of a letter.
SALUTATION = re.compile(
    r"(?:dear|sehr geehrte|liebe|hallo|hello|hi\b|ch[eè]re?|madame|monsieur|estimad|querid|gentil|egregi|spett"
    r"|car[oai] |prezad|exm|geachte|beste|szanown|drog|hej|bäste|kære|kjære|hei|hyvä|arvoisa|vážen|mil[ýá]|уважаем"
    r"|дорог|шановн|sayın|拝啓|尊敬的|您好|stimat|tisztelt|kedves|αγαπητ)",
    re.IGNORECASE,
)
# Words before numbers with points or strokes that are no dates.
VERSION_NUMBER_WORDS = re.compile(
    r"(?:(?<!\w)(?:v|ver|vers|version|rel|release|rev|build|firmware|kernel|section|sec|sect|chapter|chap|clause|para"
    r"|paragraph|article|art|abschnitt|abs|kapitel|kap|ziffer|nummer|nr|no|num|number|page|pages|pg|p|pp|seite|s|fig"
    r"|figure|abb|table|tabelle|tel|telefon|phone|fax|mobile|mobil|cell|call|isbn|issn|sku|ref|id|iban|account|konto"
    r"|ip|item|level|lot|model|part|rule|step|unit|size|score|ratio|version:|python|node|ubuntu|debian|din|iso|rfc)"
    r"|[§№]|n[°º])[.:]?\s{0,2}$|#$"
)
