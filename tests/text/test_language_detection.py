"""Which language a text is written in, and which texts have no clear language."""

from __future__ import annotations

import subprocess
import sys

import pytest
from growth import grows_linearly
from hypothesis import given, settings
from hypothesis import strategies as st

from chyme.text.language_detection import fingerprint, language_of

pytestmark = pytest.mark.slow  # each test is a little slow, and there are many

SENTENCES = {
    "en": "Thank you for your order. Please find attached the invoice for the services we provided last month.",
    "de": "Vielen Dank für Ihren Auftrag. Anbei erhalten Sie die Rechnung für die Leistungen des letzten Monats.",
    "fr": "Merci pour votre commande. Vous trouverez ci-joint la facture pour les services fournis le mois dernier.",
    "es": "Gracias por su pedido. Adjuntamos la factura por los servicios prestados el mes pasado, como siempre.",
    "it": "Grazie per il vostro ordine. In allegato trovate la fattura per i servizi forniti il mese scorso.",
    "pt": "Obrigado pela sua encomenda. Em anexo encontra a fatura dos serviços prestados no mês passado.",
    "nl": "Bedankt voor uw bestelling. Bijgaand vindt u de factuur voor de diensten die wij hebben geleverd.",
    "pl": "Dziękujemy za zamówienie. W załączeniu przesyłamy fakturę za usługi wykonane w zeszłym miesiącu.",
    "sv": "Tack för din beställning. Bifogat finner du fakturan för de tjänster vi utförde förra månaden.",
    "da": "Tak for din bestilling. Vedhæftet finder du fakturaen for de ydelser, vi leverede i sidste måned.",
    "no": "Takk for bestillingen. Vedlagt finner du fakturaen for tjenestene vi leverte forrige måned.",
    "fi": "Kiitos tilauksestasi. Liitteenä on lasku viime kuussa toimittamistamme palveluista.",
    "cs": "Děkujeme za vaši objednávku. V příloze najdete fakturu za služby poskytnuté minulý měsíc.",
    "hu": "Köszönjük megrendelését. Mellékelten küldjük a múlt havi szolgáltatások számláját.",
    "ro": "Vă mulțumim pentru comandă. Atașat găsiți factura pentru serviciile prestate luna trecută.",
    "tr": "Siparişiniz için teşekkür ederiz. Geçen ay verdiğimiz hizmetlerin faturası ektedir.",
    "ru": "Спасибо за ваш заказ. Во вложении вы найдете счет за услуги, оказанные в прошлом месяце.",
    "uk": "Дякуємо за ваше замовлення. У вкладенні ви знайдете рахунок за послуги, надані минулого місяця.",
    "bg": "Благодарим за вашата поръчка. Приложено ще намерите фактурата за услугите през миналия месец.",
    "el": "Ευχαριστούμε για την παραγγελία σας. Επισυνάπτεται το τιμολόγιο.",
    "he": "תודה על ההזמנה שלך. מצורפת החשבונית עבור השירותים.",
    "ar": "شكرا لطلبك. مرفق طيه فاتورة الخدمات المقدمة الشهر الماضي.",
    "fa": "از سفارش شما سپاسگزاریم. فاکتور خدمات ماه گذشته پیوست است.",
    "hi": "आपके आदेश के लिए धन्यवाद। पिछले महीने की सेवाओं का चालान संलग्न है।",
    "th": "ขอบคุณสำหรับคำสั่งซื้อของคุณ",
    "ja": "ご注文ありがとうございます。先月の請求書を添付いたします。",
    "zh": "感谢您的订购。随信附上上个月服务的发票。请在三十天内付款。",
    "ko": "주문해 주셔서 감사합니다. 지난달 서비스에 대한 청구서를 첨부합니다.",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_the_language_of_a_sentence_or_two_is_detected(code: str) -> None:
    language, belief = language_of(SENTENCES[code])

    assert language == code
    assert 0.5 <= belief <= 1


@pytest.mark.parametrize("code", SENTENCES)
def test_no_wrong_language_is_detected_in_forty_letters(code: str) -> None:
    assert language_of(SENTENCES[code][:40])[0] in (code, None)


@pytest.mark.parametrize("text", ["こんにちは", "안녕하세요", "Γειά σου", "שלום", "Привіт", "สวัสดี"])
def test_a_script_reveals_the_language_of_a_few_letters(text: str) -> None:
    assert language_of(text)[0] == {"こ": "ja", "안": "ko", "Γ": "el", "ש": "he", "П": "uk", "ส": "th"}[text[0]]


@pytest.mark.parametrize(("text", "code"), [("Договор аренды", "ru"), ("Їжак", "uk")])
def test_letters_that_a_language_does_not_use_rule_it_out(text: str, code: str) -> None:
    assert language_of(text)[0] == code


def test_only_common_languages_are_considered_for_a_few_words() -> None:
    assert language_of("Einladung zum Sommerfest am See")[1] > 0.9
    assert language_of("Kære kunde, hermed din faktura")[0] == "da"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "Invoice",
            "Объявление",
            "Съезд партии",
            "Rechnung 5",
            "Total 12.00",
            "2024 2025 33",
            "IMG_2034.jpg",
            "a,b,c\n1,2,3\n" * 50,
            "\x00" * 100,
            "😀" * 50,
        ),
        *(
            "foo bar baz qux quux " * 20,
            "https://example.org/a/long/path/of/words/in/english/for/everybody",
            "\ud800" * 30,
        ),
        *("def f(x):\n    return x + 1\n", '{"id":1,"x":true}' * 30),
    ],
)
def test_no_language_is_detected_in_short_texts_or_texts_of_no_language(text: str) -> None:
    language, belief = language_of(text)

    assert language is None
    assert 0 <= belief < 0.6


def test_addresses_and_code_do_not_drown_the_words() -> None:
    noise = "https://www.example.org/thank-you-for-your-order/please-find-the-invoice/that-we-have-sent-to-all-of-you\n"
    code = "`the values that have been returned by this function`\n"
    assert language_of((noise + code) * 40 + SENTENCES["de"])[0] == "de"


def test_words_of_another_script_do_not_confuse() -> None:
    assert language_of("The services and the orders of the month. " + SENTENCES["bg"])[0] == "bg"
    assert language_of("Hello, world! Привет, мир! Hello again")[0] != "sr"


def test_a_long_text_is_judged_by_all_of_it() -> None:
    begun = "Copyright notice, all rights are reserved by the owner of this file. " * 30
    assert language_of(begun + SENTENCES["fr"] * 2_000)[0] == "fr"


@pytest.mark.parametrize("piece", ["word ", "a@", "`", "https://", "[](", "x.", "長"])
def test_five_megabytes_of_anything_cost_no_more_than_their_length(piece: str) -> None:
    language_of(SENTENCES["en"])  # loads the model
    assert grows_linearly(lambda size: language_of(piece * (size // len(piece))), 5_000_000)


@settings(max_examples=50)
@given(st.text(max_size=200))
def test_any_text_can_be_examined(text: str) -> None:
    language, belief = language_of(text)
    assert language is None or (len(language) == 2 and language.islower())
    assert 0 <= belief <= 1


def test_neither_the_import_nor_the_fingerprint_loads_the_model() -> None:
    script = "import sys, chyme.text.language_detection as it; print(it.fingerprint(), 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == f"{fingerprint()} False"
    assert fingerprint().startswith("py3langid 0.")


def test_the_model_is_unpacked_without_writing_anything() -> None:
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); " + (
        f"from chyme.text.language_detection import language_of; print(language_of({SENTENCES['de']!r})[0])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert (run.stdout, run.returncode) == ("de\n", 0), run.stderr
