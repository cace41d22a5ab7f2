"""The phrases that walls use, in many languages. Compared with text in lower case."""

from __future__ import annotations

import re
from functools import cache

from chyme.text.word_lists import WordList

_PHRASES = WordList(__package__, "phrases")
CONSENT = ("consent: agree", "consent: cookies", "consent: partners", "consent: refuse")


@cache
def phrases_of(wall: str) -> re.Pattern[str]:
    """Matches any phrase of this section of words/phrases.txt."""
    return re.compile("|".join(map(re.escape, _PHRASES.sections[wall])))


# Whole titles of pages that check for robots: no article has such a title, and only the site's name may follow.
BOT_TITLES = re.compile(
    r"(?:just a moment|nur einen moment|einen moment,? bitte|un instant|un momento|um momento|een ogenblik(?: geduld)?"
    r"|один момент|подождите|proszę czekać|bir dakika lütfen|请稍候|請稍候|しばらくお待ちください"
    r"|잠시만 기다리십시오|لحظة"
    r"|attention required!?|access denied|access to this page has been denied|you have been blocked|are you a robot\??"
    r"|are you human\??|robot or human\??|robot check|bot verification|human verification|security verification"
    r"|verification required|verify(?:ing)? you are (?:a )?human|security check(?:point)?|vercel security checkpoint"
    r"|checking your browser|please verify you are a human|pardon our interruption|please wait|one moment,? please"
    r"|ddos-guard|ddos protection.{0,40}|client challenge|captcha|captcha challenge|making sure you're not a bot!?"
    r"|request rejected|blocked|forbidden|403 forbidden|error 1020|sicherheitsüberprüfung|sind sie ein mensch\??"
    r"|vérification de sécurité|comprobación de seguridad|verificación|ой!|вы не робот\??"
    r"|安全验证|安全驗證|访问验证|滑动验证页面)"
    r"[\s.…!]*(?:[|–—:-].{0,60})?"
)
LOGIN_TITLES = re.compile(
    r"(?:.{0,60}[|–—:-]\s*)?(?:log ?in|log on|sign ?in|sign in or .{0,30}|log ?in .{0,40}|sign in .{0,40}"
    r"|anmelden|anmeldung|einloggen|(?:se )?connecter|connexion|s'identifier|iniciar sesión|acceder"
    r"|accedi|entrar|inloggen|logga in|zaloguj.{0,12}"
    r"|вход|войти|登录|登入|登錄|ログイン|로그인)(?:\s*(?:[|–—:-]|to\b|bei\b|auf\b|à\b|en\b).{0,80})?"
)
LOGIN_PATHS = re.compile(
    r"(?:^|[/_.-])(?:log-?in|log-?on|sign-?in|signon|sso|auth|oauth2?|authorize|accounts?|session|wp-login|anmelden"
    r"|connexion|checkpoint|uas|cas)(?:$|[/_.?&-])"
)
CONSENT_TITLES = re.compile(
    r"before you continue.{0,60}|bevor sie (?:fortfahren|weitergehen|zu .{1,40} weitergehen).{0,60}"
    r"|avant (?:de continuer|d'accéder).{0,60}|antes de (?:continuar|ir).{0,60}|prima di continuare.{0,60}"
    r"|voordat je (?:verdergaat|doorgaat).{0,60}|.{0,40}(?:cookie|privacy|dpg media privacy) ?(?:gate|wall|consent)"
    r"|your privacy choices.{0,40}|we value your privacy.{0,40}|yahoo ist teil der .{0,60}|yahoo is part of .{0,60}"
)
CONSENT_HOSTS = re.compile(r"^(?:consent|guce|cookiewall|privacygate|cmp|myprivacy)\.|\.consent\.")
MISSING_TITLES = re.compile(
    r"(?:(?:error |http )?404(?: error)?(?:\s*[|–—:,.-]?\s*"
    r"(?:not found|page|file|error|seite|página|pagina|страница).{0,60})?"
    r"|.{0,60}[|–—:-]\s*(?:error )?404(?: not found)?"
    r"|(?:.{0,40}[|–—:-]\s*)?(?:page|document|article|content|file) (?:was )?(?:not|cannot be) found.{0,40}"
    r"|not found.{0,20}|this page (?:isn't|is not|doesn't|does not|no longer) .{0,40}"
    r"|seite (?:wurde )?nicht gefunden.{0,40}"
    r"|page (?:introuvable|non trouvée).{0,40}|página no encontrada.{0,40}|pagina non trovata.{0,40}"
    r"|página não encontrada.{0,40}|pagina niet gevonden.{0,40}|страница не найдена.{0,40}|sidan hittades inte.{0,40}"
    r"|nie znaleziono strony.{0,40}|页面不存在.{0,40}|页面未找到.{0,40}|找不到(?:页面|網頁|网页).{0,40}"
    r"|ページが見つかりません.{0,40}|페이지를 찾을 수 없습니다.{0,40})"
)
