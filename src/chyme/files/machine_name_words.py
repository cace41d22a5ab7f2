"""Words that cameras, scanners, messengers and programs put into file names, in many languages; all casefolded."""

from __future__ import annotations


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Files that other files refer to by name: a page, source code. They keep any name.
REFERENCED_EXTENSIONS = _word_set(
    """
    html htm xhtml css scss js mjs jsx ts tsx vue py sh bash bat ps1 c h cpp hpp cc hh cs java kt go rs rb erb php pl
    lua r swift jsp sql jinja j2 tmpl
    """
)

# Files that people write and name by a day or a number: a daily note, a novel, a tax form.
TEXT_EXTENSIONS = _word_set("md markdown txt text org rst adoc tex epub mobi azw3")
OFFICE_EXTENSIONS = _word_set("pdf doc docx odt rtf xls xlsx ods csv ppt pptx odp")

# Alone or with numbers these say nothing about the content of the file.
GENERIC_WORDS = _word_set(
    """
    img image images imagen imagem immagine imatge afbeelding bild bilder billede bilde kuva obraz obrázek
    obrazek kép resim görsel pic pics picture pictures pict photo photos foto fotos fotografia fotografía fotka
    fénykép fotoğraf snapshot snap shot dsc dscn dscf dsci dcim pxl mvi mov vid video videos vídeo vidéo film
    gopr gopro dji sam kif cimg hpim imgp imag cam camera kamera caméra cámara burst pano panorama stitch still
    clip frame aud audio ptt stk voice voicemail sprachmemo sprachmemos sprachnachricht rec record recording
    recordings recorded aufnahme aufzeichnung tonaufnahme enregistrement enreg grabación grabacion gravação
    gravacao registrazione opname inspelning nagranie nahrávka запись диктофон scan scans scanned scanner
    scannen scannable camscanner scn skan numérisation numerisation numérisé escaneado escaneo escanear
    digitalizado digitalização scansione scannerizzato skannaus inscannen gescannt gescanntes scansionato
    сканирование скан xerox fax telefax kopierer printout print druck screenshot screenshots screen screencast
    screenrecord screenrecording screencapture screenclip capture captura bildschirmfoto bildschirmaufnahme
    bildschirmabbild schermata schermafbeelding schermafdruk schermopname skärmavbild skärmbild skjermbilde
    skærmbillede näyttökuva kuvakaappaus zrzut snímek képernyőkép képernyőfotó screen-shot скриншот снимок
    whatsapp telegram signal viber kakaotalk line wechat weixin snapchat instagram facebook fb messenger skype
    zoom teams discord slack mms mmexport inbound received lp wx airdrop bluetooth document documents dokument
    dokumente dokumentum documento documentos documenten dokumentet asiakirja doc docs документ belge file files
    datei fichier archivo arquivo bestand fil tiedosto plik soubor fájl файл dosya download downloads
    herunterladen téléchargement telechargement descarga downloaded untitled unbenannt unbenannte unbenanntes
    unbenannter namenlos namnlös navnløs naamloos nimetön névtelen adsız unnamed noname nameless anonymous
    unknown unbekannt inconnu desconocido sconosciuto attachment attachments attached att anhang anlage adjunto
    anexo allegato bijlage bilaga vedlegg załącznik příloha вложение message messages temp tmp temporary output
    export exported copy kopie kopia copia copie kopi kópia cópia копия gmt utc cap part camscan tinyscanner
    placeholder folder ordner dossier textdokument lens ekran sans sem senza bez без uten utan zonder
    """
)

# These say nothing only when a number follows: Book1, Presentation2, Track 07.
WORDS_WITH_NUMBER = _word_set(
    """
    book mappe classeur libro livro cartella map arbetsbok presentation präsentation présentation presentación
    apresentação presentazione presentatie sheet tabelle feuille hoja foglio blad drawing zeichnung dessin
    dibujo publication track titel spur piste pista page seite pagina página slide folie diapositive diapositiva
    note notes notiz notizen memo item object figure fig clipboard zwischenablage paste pasted list text texte
    texto testo entry mail email new neu neue neuer neues nouveau nouvelle nuevo nueva novo nova nuovo нов новый
    новая
    """
)

# These stand between the others: at, of, AM and PM, days and months, and what a device adds.
CONNECTING_WORDS = _word_set(
    """
    at um à a le la las los il alle kl klo om o ob v of on from the and de d del da do di du von vom am pm p m
    uhr h to an in im el с в от и на fra från z ze dne den der die das dal dnia w i new neu neue neuer neues
    nouveau nouvelle nuevo nueva novo nova nuovo nuova nieuw nieuwe ny nytt nowy nový új yeni новый новая новое
    my meine mein mon mi mio copy kopie cloud size normal edited bearbeitet original portrait cover hdr raw
    night mp top wa mb ts crop cropped resized scaled final draft full large medium small thumb thumbnail
    preview hd sd uhd low high res pantalla tela ecrã ecran écran bildschirm ekranu obrazovky görüntüsü resmi
    экрана экран skrin title titre título titulo titolo tytułu názvu name named имени названия sin ohne no text
    txt pdf jpg jpeg png mp3 mp4 word excel powerpoint microsoft office adobe genius notes app voice only
    meeting call chat desktop ios android iphone samsung pixel google drive web page memo memos tue wed thu fri
    sat sun monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag
    samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche jan january januar janvier enero janeiro
    gennaio januari feb february februar février febrero fevereiro febbraio februari mar march märz mrz mars
    marzo março maart apr april avril abril aprile may mai mayo maio maggio mei jun june juni juin junio junho
    giugno jul july juli juillet julio julho luglio aug august août agosto augustus sep sept september septembre
    septiembre setembro settembre oct october oktober okt octobre octubre outubro ottobre nov november novembre
    noviembre novembro dec december dezember dez décembre diciembre dezembro dicembre января февраля марта
    апреля мая июня июля августа сентября октября ноября декабря
    """
)

# Words of scripts without spaces.
UNSPACED_WORDS = _word_set(
    """
    新規 ドキュメント テキスト 文書 文書名 無題 名称未設定 名前なし スクリーンショット 画面収録 画像 写真 動画
    録音 録画 スキャン ダウンロード ファイル コピー 新しい フォルダー 未命名 无标题 無標題 新建 文本文档
    文本文件 文档 文檔 文件 屏幕截图 螢幕截圖 屏幕快照 截屏 截图 截圖 屏幕录制 微信 微信图片 微信截图
    企业微信截图 图片 圖片 照片 视频 影片 录音 錄音 扫描 扫描件 掃描 下载 下載 附件 副本 年 月 日 時 时 分 秒
    上午 下午 午前 午後 的 の
    """
)

# Words of devices in scripts with spaces that are neither Latin nor Cyrillic.
SPACED_WORDS = _word_set(
    """
    스크린샷 화면 캡처 사진 이미지 동영상 녹음 문서 새 제목 없음 파일 다운로드 복사본 오전 오후 카카오톡 لقطة
    الشاشة صورة مستند جديد بدون عنوان ملف تسجيل نسخة مسح צילום מסך מסמך ללא שם ภาพหน้าจอ ภาพถ่าย เอกสาร
    ไม่มีชื่อ
    """
)
