"""The phrases that walls use, in many languages. Compared with text in lower case."""

from __future__ import annotations

import re


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(phrase) for phrase in phrases))


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
BOT_PHRASES = _any(
    "verify you are human", "verify that you are human", "verify you're human", "confirm you are human",
    "you are not a robot", "you're not a robot", "you are a human", "you're not a bot", "checking your browser",
    "checking if the site connection is secure", "needs to review the security of your connection",
    "enable javascript and cookies to continue", "unusual traffic from your", "unusual activity from your",
    "press & hold", "press and hold to confirm", "why have i been blocked", "you have been blocked",
    "performing security verification", "automated (bot) activity", "suspicious activity", "solve the captcha",
    "complete the captcha", "complete the security check", "please complete the following challenge", "ray id",
    "reference #", "incident id", "this process is automatic", "protects itself from online attacks",
    "sie ein mensch sind", "kein roboter", "überprüfung ihres browsers", "sicherheit ihrer verbindung",
    "vous êtes humain", "pas un robot", "vérification de votre navigateur", "la sécurité de votre connexion",
    "que eres humano", "que es humano", "no eres un robot", "no soy un robot", "verificando su navegador",
    "che sei umano", "non sei un robot", "você é humano", "não sou um robô", "que je geen robot bent",
    "что вы не робот", "что вы человек", "проверка браузера", "не робот", "确认您是真人", "您是否是真人", "不是机器人",
    "完成安全验证", "確認您是真人", "人間であること", "ロボットではありません", "사람인지 확인", "로봇이 아닙니다",
)  # fmt: skip
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
LOGIN_PHRASES = _any(
    "log in to continue", "sign in to continue", "please log in", "please sign in", "you must be logged in",
    "you need to log in", "you need to sign in", "log in to view", "sign in to view", "login required",
    "forgot password", "forgot your password", "bitte melden sie sich an", "passwort vergessen", "mot de passe oublié",
    "connectez-vous", "olvidaste tu contraseña", "inicia sesión", "password dimenticata", "esqueceu a senha",
    "wachtwoord vergeten", "забыли пароль", "忘记密码", "忘記密碼", "パスワードをお忘れ",
)  # fmt: skip
CONSENT_TITLES = re.compile(
    r"before you continue.{0,60}|bevor sie (?:fortfahren|weitergehen|zu .{1,40} weitergehen).{0,60}"
    r"|avant (?:de continuer|d'accéder).{0,60}|antes de (?:continuar|ir).{0,60}|prima di continuare.{0,60}"
    r"|voordat je (?:verdergaat|doorgaat).{0,60}|.{0,40}(?:cookie|privacy|dpg media privacy) ?(?:gate|wall|consent)"
    r"|your privacy choices.{0,40}|we value your privacy.{0,40}|yahoo ist teil der .{0,60}|yahoo is part of .{0,60}"
)
CONSENT_HOSTS = re.compile(r"^(?:consent|guce|cookiewall|privacygate|cmp|myprivacy)\.|\.consent\.")
CONSENT_PHRASES = (
    _any("accept all", "alle akzeptieren", "allen zustimmen", "tout accepter", "aceptar todo", "accetta tutto",
         "alles accepteren", "aceitar tudo", "принять все", "全部接受", "すべて同意", "i agree", "zustimmen"),
    _any("cookie", "куки", "クッキー"),
    _any("we value your privacy", "our partners", "unsere partner", "nos partenaires", "nuestros socios",
         "i nostri partner", "onze partners",
         "personalised ads", "personalized ads", "personalisierte werbung", "consent", "einwilligung", "consentement"),
    _any("reject all", "alle ablehnen", "tout refuser", "rechazar todo", "rifiuta tutto", "manage options",
         "manage settings", "einstellungen verwalten", "gérer les", "more options", "privacy policy"),
)  # fmt: skip
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
MISSING_PHRASES = _any(
    "404", "not found", "doesn't exist", "does not exist", "no longer exists", "no longer available", "cannot be found",
    "can't be found", "couldn't find", "could not find", "can't find", "has been removed", "nicht gefunden",
    "existiert nicht", "introuvable", "n'existe pas", "non trouvée", "no encontrada", "no existe", "non trovata",
    "não encontrada", "niet gevonden", "не найдена", "не существует", "hittades inte", "nie znaleziono",
    "不存在", "找不到", "未找到", "見つかりません", "찾을 수 없",
)  # fmt: skip
PARKED_PHRASES = _any(
    "this domain is for sale", "domain is for sale", "buy this domain", "this domain may be for sale",
    "the domain name is available for purchase", "diese domain steht zum verkauf", "ce nom de domaine est à vendre",
    "domain has expired", "este dominio está en venta", "домен продается", "该域名正在出售", "parked free",
)  # fmt: skip
PAYWALL_PHRASES = _any(
    "subscribe to continue reading", "subscribe to read", "subscribe to keep reading", "to continue reading, subscribe",
    "this article is for subscribers", "this content is for subscribers", "for subscribers only", "subscriber-only",
    "subscribers only", "already a subscriber", "become a subscriber to", "to read the full story",
    "unlock this article", "this post is for paid subscribers", "this post is for paying subscribers",
    "create a free account to continue", "continue reading with a subscription", "member-only story",
    "jetzt weiterlesen", "weiterlesen mit",
    "dieser artikel ist für abonnenten", "nur für abonnenten", "bereits abonnent", "la suite est réservée aux abonnés",
    "cet article est réservé aux abonnés", "réservé aux abonnés", "déjà abonné",
    "contenido exclusivo para suscriptores", "suscríbete para seguir leyendo", "exclusivo para suscriptores",
    "contenuto riservato agli abbonati",
    "articolo riservato agli abbonati", "exclusivo para assinantes", "alleen voor abonnees", "только для подписчиков",
    "この記事は有料会員限定", "有料会員限定", "本文仅限订阅", "订阅后继续阅读", "구독자 전용",
)  # fmt: skip
