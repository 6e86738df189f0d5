/**
 * The words by which cookie banners are recognised and their buttons understood,
 * in some thirty languages. Compared without case, accents and punctuation, see
 * `normalizeWords` of `page-scripts/read/words.ts`: parts of labels as whole words,
 * except in scripts without spaces.
 */
import type { ConsentWords } from '@berth/page-scripts/act/consent.ts';
import { normalizeWords } from '@berth/page-scripts/read/words.ts';

/** Words of a label that asks for a subscription or money. It is never clicked, whatever else it says. */
const paid = `
subscribe|subscription|buy|pay|purchase|premium|ad free|abonnieren|abo|abonnement|kaufen|zahlen|werbefrei|pur
s abonner|abonner|m abonner|payer|suscribirse|suscribirme|suscribete|suscripcion|pagar|abbonati|abbonamento|abbonarsi
assinar|assine|assinatura|abonneren|abonneer|betalen|subskrypcja|subskrybuj|prenumerera|prenumeration|tilaa|tilaus
předplatné|подписаться|подписка|підписка|abone|購読|订阅|訂閱|구독`;

/** Words of a label that refuses, or allows only what is necessary. */
const reject = `
reject|decline|deny|refuse|disagree|do not accept|don t accept|not accept|without accepting|do not agree|don t agree|do not consent
do not allow|don t allow|no thanks|no thank you|opt out|do not sell|essential only|only essential|essentials only|essential cookies
necessary only|only necessary|necessary cookies|only strictly|strictly necessary|required only|only required|required cookies
functional only|only functional|technical only|only technical|disable all|block all|turn off all|object to all|only the necessary
ablehnen|alle ablehnen|lehne ab|verweigern|widersprechen|nicht zustimmen|nicht akzeptieren|nicht einverstanden|stimme nicht zu|nein danke
nur notwendige|nur erforderliche|nur essenzielle|nur essentielle|nur technisch|nur funktionale|nur unbedingt|notwendige cookies
erforderliche cookies|essenzielle cookies|notwendige akzeptieren|ohne zustimmung|ohne einwilligung|ohne zuzustimmen|ohne akzeptieren|weiter ohne
refuser|refuse|refuse tout|sans accepter|rejeter|ne pas accepter|n accepte pas|non merci|décliner|uniquement les nécessaires|interdire
nécessaires uniquement|essentiels uniquement|uniquement nécessaires|seulement les nécessaires|strictement nécessaires|cookies nécessaires|cookies essentiels
rechazar|rechazo|rechazarlas|rechazarlos|denegar|declinar|no acepto|no aceptar|sin aceptar|no gracias|no estoy de acuerdo
solo necesarias|solo las necesarias|solo necesarios|solo los necesarios|solo esenciales|solo las esenciales|únicamente las necesarias
estrictamente necesarias|estrictamente necesarios|cookies necesarias|cookies esenciales|cookies técnicas
rifiuta|rifiutare|rifiuto|rifiutali|nega|declina|respingi|non accetto|non accettare|senza accettare|no grazie|solo necessari|solo i necessari
solo tecnici|solo i tecnici|solo essenziali|solo cookie|strettamente necessari|cookie necessari|cookie tecnici|cookie essenziali|solo quelli necessari
rejeitar|rejeito|recusar|recuso|negar|não aceitar|não aceito|não concordo|sem aceitar|não obrigado|apenas necessários|apenas os necessários
somente necessários|somente os necessários|só necessários|só os necessários|apenas essenciais|apenas os essenciais|estritamente necessários
cookies necessários|cookies essenciais
weigeren|weiger|afwijzen|verwerpen|niet accepteren|niet akkoord|nee bedankt|nee dank|zonder accepteren|zonder te accepteren|doorgaan zonder
alleen noodzakelijke|alleen noodzakelijk|alleen functionele|alleen functioneel|alleen essentiële|alleen vereiste|alleen strikt|noodzakelijke cookies|functionele cookies
odrzuć|odrzucam|odmów|odmawiam|nie zgadzam|nie akceptuję|nie wyrażam|nie dziękuję|bez zgody|bez akceptacji|tylko niezbędne|tylko konieczne
tylko wymagane|jedynie niezbędne|niezbędne cookies|niezbędne pliki
отклонить|отклоняю|отказаться|отказ|отказываюсь|не принимать|не принимаю|не согласен|не соглашаюсь|запретить|нет спасибо|без согласия
только необходимые|только обязательные|только нужные|необходимые файлы|необходимые cookie
відхилити|відхиляю|відмовитися|не приймати|не погоджуюсь|не погоджуюся|без згоди|лише необхідні|тільки необхідні|лише обов язкові|тільки обов язкові
reddet|reddediyorum|kabul etme|kabul etmiyorum|kabul etmeden|izin verme|hayır teşekkürler|yalnızca gerekli|sadece gerekli|yalnızca zorunlu
sadece zorunlu|zorunlu çerezler|gerekli çerezler
拒否|拒絶|辞退|同意しない|同意せず|許可しない|受け入れない|承諾しない|必須のみ|必要なもののみ|必要なcookieのみ|必須cookieのみ|必須のcookieのみ|必要なクッキーのみ|必須クッキーのみ|必須のクッキーのみ|必要最低限|必要最小限
拒绝|拒絕|不同意|不接受|不允许|不允許|仅必要|僅必要|仅限必要|仅必需|僅必需|仅接受必要|僅接受必要|只接受必要|仅使用必要|僅使用必要|仅允许必要|仅接受必需|必要cookie|必要的cookie
거부|거절|동의하지|동의 안 함|동의안함|허용 안 함|허용하지|필수만|필수 쿠키|필수 항목만
avvisa|neka|avböj|avslå|tacka nej|nej tack|acceptera inte|godkänn inte|tillåt inte|utan att acceptera|endast nödvändiga|bara nödvändiga
enbart nödvändiga|endast nödvändigt|nödvändiga cookies|nödvändiga kakor
afvis|afvise|afslå|nej tak|accepter ikke|tillad ikke|uden at acceptere|kun nødvendige|kun de nødvendige|kun nødvendigt|nødvendige cookies
avvis|avvise|nei takk|godta ikke|ikke godta|ikke tillat|ikke samtykk|bare nødvendige|bare nødvendig|kun nødvendig|nødvendige informasjonskapsler
hylkää|hylkään|kieltäydy|kiellä|estä kaikki|en hyväksy|älä hyväksy|älä salli|ei kiitos|vain välttämättömät|vain välttämättömiä|vain pakolliset|vain tarpeelliset|välttämättömät evästeet
odmítnout|odmítnu|odmítám|zamítnout|nesouhlasím|nepřijmout|nepovolit|bez souhlasu|pokračovat bez|jen nezbytné|pouze nezbytné|jen nutné|pouze nutné|jen technické|pouze technické|nezbytné cookies
odmietnuť|odmietam|zamietnuť|nesúhlasím|neprijať|bez súhlasu|len nevyhnutné|iba nevyhnutné|len potrebné|iba potrebné
elutasít|elutasítom|elutasítás|elutasítása|visszautasítom|visszautasítás|nem fogadom el|nem engedélyezem|nem járulok|nem köszönöm|csak a szükséges|csak szükséges|csak a feltétlenül|szükséges sütik
respinge|respinge tot|resping|refuz|refuză|nu accept|nu sunt de acord|fără acceptare|doar necesare|doar cele necesare|numai necesare|doar esențiale|strict necesare
απόρριψη|απορρίπτω|άρνηση|δεν αποδέχομαι|δεν συμφωνώ|διαφωνώ|μόνο τα απαραίτητα|μόνο απαραίτητα|μόνο τα αναγκαία|απαραίτητα cookies
отхвърляне|отхвърли|отхвърлям|отказвам|не приемам|не съм съгласен|само необходимите|само необходими
odbij|odbaci|odbijam|odbijanje|ne prihvaćam|ne slažem|samo nužni|samo nužne|samo nužno|samo neophodne|samo neophodni|samo obavezne|zavrni|zavrnem|samo nujni|samo nujne|одбиј|само неопходне
keeldu|keeldun|ei nõustu|ainult vajalikud|ainult hädavajalikud
atmesti|atsisakyti|nesutinku|tik būtini|tik būtinus|tik būtinieji
noraidīt|atteikties|nepiekrītu|tikai nepieciešamās|tikai obligātās
rebutja|rebutjar|rebutjo|només necessàries|només les necessàries
رفض|أرفض|لا أوافق|غير موافق|لا أقبل|عدم القبول|عدم الموافقة|الضرورية فقط|الأساسية فقط
דחה|דחייה|דחיית|לדחות|סירוב|סרב|לא מסכים|הכרחיים בלבד|הכרחיות בלבד|חיוניים בלבד
ปฏิเสธ|ไม่ยอมรับ|ไม่ยินยอม|เฉพาะที่จำเป็น|เฉพาะคุกกี้ที่จำเป็น|ที่จำเป็นเท่านั้น
từ chối|không đồng ý|không chấp nhận|chỉ cần thiết|chỉ cookie cần thiết|chỉ chấp nhận cần thiết
tolak|menolak|tidak setuju|hanya yang diperlukan|hanya yang penting|hanya penting|hanya yang wajib
अस्वीकार|असहमत|सहमत नहीं|केवल आवश्यक`;

/** Words of a label that accepts everything, also beside words that save or lead to settings. */
const acceptAll = `
accept all|allow all|agree to all|consent to all|enable all|yes to all|accept cookies|allow cookies|accept all cookies|accept and close|accept and continue|accept continue
alle akzeptieren|alles akzeptieren|alle zulassen|alle annehmen|alle erlauben|allen zustimmen|alle cookies akzeptieren|alle cookies zulassen|zustimmen und weiter|akzeptieren und weiter
tout accepter|accepter tout|accepter tous|accepter et continuer|accepter et fermer|tout autoriser|aceptar todo|aceptar todas|aceptar todos|aceptar y continuar|aceptar y cerrar|permitir todas
accetta tutto|accetta tutti|accetto tutto|accettare tutto|accetta e continua|accetta e chiudi|aceitar tudo|aceitar todos|aceitar todas|aceitar e continuar|permitir todos
alles accepteren|alle accepteren|accepteer alle|accepteer alles|alles toestaan|alle toestaan|alle cookies accepteren|zaakceptuj wszystkie|akceptuj wszystkie|akceptuję wszystkie|zezwól na wszystkie
принять все|разрешить все|прийняти все|прийняти всі|tümünü kabul et|hepsini kabul et|tümüne izin ver|すべて同意|すべて許可|すべて受け入れる|すべてのcookie|全て同意|すべて承諾
全部接受|接受所有|接受全部|全部允许|允许所有|同意全部|全部同意|允許所有|모두 동의|모두 수락|모두 허용|전체 동의|acceptera alla|godkänn alla|tillåt alla|accepter alle|tillad alle|godta alle|aksepter alle|tillat alle
hyväksy kaikki|salli kaikki|přijmout vše|přijmout všechny|povolit vše|souhlasím se vším|prijať všetko|prijať všetky|povoliť všetko|összes elfogadása|mindet elfogadom|összes engedélyezése
acceptă tot|acceptă toate|accept toate|αποδοχή όλων|приемане на всички|приеми всички|prihvati sve|sprejmi vse|nõustu kõigiga|sutikti su visais|priimti visus|pieņemt visas|accepta ho tot|accepta totes
قبول الكل|قبول الجميع|الموافقة على الكل|אשר הכל|קבל הכל|ยอมรับทั้งหมด|อนุญาตทั้งหมด|chấp nhận tất cả|đồng ý tất cả|terima semua|setuju semua|सभी स्वीकार`;

/** Words of a label that ends the settings with what is chosen there. */
const save = `
save|save settings|confirm|confirm choices|allow selection|allow selected|accept selection|accept selected|submit preferences|submit choices|apply|done
speichern|auswahl bestätigen|auswahl erlauben|auswahl akzeptieren|auswahl zulassen|auswahl übernehmen|bestätigen|übernehmen
enregistrer|sauvegarder|valider|confirmer|autoriser la sélection|accepter la sélection|guardar|confirmar|permitir la selección|aceptar selección|aceptar seleccionadas
salva|conferma|confermare|accetta selezionati|consenti selezionati|salvar|gravar|permitir seleção|aceitar selecionados|aceitar seleção|opslaan|bevestigen|bevestig|selectie toestaan|selectie accepteren
zapisz|potwierdź|potwierdzam|zezwól na wybrane|сохранить|подтвердить|принять выбранные|зберегти|підтвердити|kaydet|onayla|seçimi kabul|seçime izin|保存|確認|選択を|确认|確定|确定|儲存|저장|확인|선택 허용
spara|bekräfta|tillåt urval|gem|bekræft|tillad valgte|lagre|bekreft|tillat utvalg|tallenna|vahvista|salli valinta|uložit|potvrdit|povolit výběr|uložiť|potvrdiť|mentés|mentése|megerősítés|kiválasztottak
salvează|confirmă|αποθήκευση|επιβεβαίωση|запази|запазване|потвърди|spremi|sačuvaj|potvrdi|shrani|salvesta|kinnita|išsaugoti|patvirtinti|saglabāt|apstiprināt|desa|guarda
حفظ|تأكيد|שמור|שמירה|אישור הבחירה|บันทึก|ยืนยัน|lưu|xác nhận|simpan|konfirmasi|सहेजें`;

/** Words of a label that leads to the choices. */
const settings = `
settings|preferences|options|more options|customize|customise|manage|configure|personalize|personalise|adjust|let me choose|choose cookies|cookie choices|your choices|purposes|show details
einstellungen|einstellung|anpassen|verwalten|konfigurieren|optionen|auswählen|individuell|details zeigen|details anzeigen|präferenzen|zwecke
paramétrer|paramètres|paramétrage|personnaliser|gérer|préférences|configurer|plus d options|choisir|configurar|configuración|configuraciones|ajustes|preferencias|personalizar|gestionar|opciones|más opciones
impostazioni|personalizza|gestisci|preferenze|configura|opzioni|scopri di più e personalizza|scegli|configurações|definições|preferências|gerenciar|gerir|opções|mais opções
instellingen|voorkeuren|aanpassen|beheren|opties|zelf instellen|kiezen|ustawienia|dostosuj|preferencje|zarządzaj|opcje|konfiguruj|настройки|настроить|параметры|управление|выбрать|налаштування|налаштувати|параметри|керувати
ayarlar|ayarları|tercihler|tercihleri|yönet|özelleştir|seçenekler|設定|カスタマイズ|管理|オプション|設置|设置|設置|自定义|自訂|偏好|选项|選項|설정|관리|맞춤|옵션|환경설정
inställningar|anpassa|hantera|alternativ|indstillinger|tilpas|administrer|valgmuligheder|innstillinger|tilpass|administrer|asetukset|muokkaa|hallitse|mukauta|vaihtoehdot|nastavení|upravit|přizpůsobit|spravovat|možnosti|nastavenia|upraviť|prispôsobiť|spravovať
beállítások|beállítása|testreszabás|kezelése|lehetőségek|setări|personalizează|preferințe|gestionează|opțiuni|ρυθμίσεις|προσαρμογή|διαχείριση|επιλογές|προτιμήσεις|настройване|персонализиране|управлявай|опции
postavke|prilagodi|upravljaj|podešavanja|nastavitve|prilagodi|seaded|kohanda|halda|nustatymai|tinkinti|valdyti|iestatījumi|pielāgot|pārvaldīt|configuració|personalitza|preferències
الإعدادات|إعدادات|تخصيص|إدارة|التفضيلات|הגדרות|התאמה|ניהול|העדפות|ตั้งค่า|การตั้งค่า|จัดการ|กำหนดเอง|cài đặt|tùy chỉnh|quản lý|tùy chọn|pengaturan|sesuaikan|kelola|preferensi|opsi|सेटिंग|सेटिंग्स|प्रबंधित|अनुकूलित`;

const accept = `
accept|i accept|agree|i agree|allow|consent|i consent|ok|okay|got it|understand|i understand|understood|continue|yes|fine|acknowledge|alright
akzeptieren|akzeptiere|zustimmen|stimme zu|annehmen|einverstanden|verstanden|erlauben|zulassen|alles klar|in ordnung|ja|fortfahren|weiter
accepter|accepte|j accepte|d accord|autoriser|compris|j ai compris|continuer|oui|aceptar|acepto|de acuerdo|entendido|permitir|vale|continuar|estoy de acuerdo|si
accetta|accetto|accettare|acconsento|consenti|ho capito|d accordo|va bene|continua|aceitar|aceito|concordo|entendi|permitir|compreendo|sim|prosseguir
accepteren|accepteer|akkoord|toestaan|begrepen|ik ga akkoord|doorgaan|ja graag|akceptuję|akceptuj|zaakceptuj|zgadzam się|zgoda|rozumiem|przejdź do serwisu|zezwól|tak
принять|принимаю|согласен|согласиться|соглашаюсь|хорошо|понятно|понял|разрешить|продолжить|да|прийняти|приймаю|погоджуюсь|погоджуюся|згоден|дозволити|зрозуміло|так
kabul et|kabul ediyorum|onaylıyorum|tamam|anladım|izin ver|devam et|同意|承諾|許可|受け入れる|了解|はい|同意して|接受|同意|允许|允許|知道了|好的|我知道了|我接受|동의|수락|허용|확인했습니다|네
acceptera|godkänn|jag godkänner|jag förstår|tillåt|jag samtycker|accepter|acceptér|tillad|jeg accepterer|jeg forstår|godta|aksepter|tillat|jeg godtar|jeg forstår|samtykk|hyväksy|hyväksyn|salli|ymmärrän|selvä
přijmout|přijímám|souhlasím|rozumím|povolit|v pořádku|prijať|súhlasím|rozumiem|povoliť|elfogadom|elfogadás|elfogad|rendben|értem|engedélyezem|hozzájárulok|accept|acceptă|sunt de acord|am înțeles|de acord|permite
αποδοχή|αποδέχομαι|συμφωνώ|εντάξει|κατάλαβα|приемам|приеми|съгласен|разбрах|приемане|prihvaćam|prihvati|slažem se|prihvatam|u redu|razumijem|sprejmi|sprejmem|strinjam se|razumem|прихвати|прихватам
nõustun|nõustu|sain aru|sutinku|priimti|supratau|piekrītu|pieņemt|sapratu|accepta|accepto|d acord|entesos
قبول|موافق|أوافق|أقبل|السماح|حسنا|מסכים|אישור|אני מסכים|קבל|אשר|הבנתי|ยอมรับ|ยินยอม|ตกลง|อนุญาต|chấp nhận|đồng ý|cho phép|tôi đồng ý|terima|setuju|izinkan|saya setuju|स्वीकार|सहमत|ठीक है`;

/** Words about cookies in the text of a banner: one is enough. */
const about = `
cookie|ciasteczk|evästei|eväste|sütik|sütit|sütiket|sütiket|kolačić|piškotk|slapuk|sīkdat|küpsis|informasjonskaps|kakor|çerez|куки|бисквитк|колачић|クッキー|쿠키|コンセント管理|小型文本文件
ملفات تعريف الارتباط|الكوكيز|עוגיות|קובצי|คุกกี้|कुकी|galetes|vafrakök`;

/** Words about privacy in the text of a banner that does not name cookies: two different ones are needed. */
const aboutPrivacy = `
consent|your privacy|personal data|personal information|our partners|partners|gdpr|tracking|legitimate interest|personalised ads|personalized ads
datenschutz|privatsphäre|einwilligung|zustimmung|personenbezogene|partner|consentement|vie privée|données personnelles|partenaires|consentimiento|privacidad|datos personales|socios
consenso|dati personali|partner|consentimento|privacidade|dados pessoais|parceiros|toestemming|persoonsgegevens|prywatności|danych osobowych|zgody|partnerów|персональных данных|конфиденциальност|согласие|партнер
персональних даних|конфіденційн|kişisel veri|gizlilik|個人情報|プライバシー|パートナー|隐私|隱私|个人信息|個人資料|개인정보|파트너|samtycke|personuppgifter|integritet|samtykke|personoplysninger|personopplysninger|personvern|suostumu|tietosuoja|henkilötieto
souhlas|osobních údaj|soukromí|súhlas|osobných údaj|hozzájárul|adatvédel|személyes adat|consimțământ|date personale|confidențialitat|συγκατάθεση|προσωπικά δεδομένα|απόρρητο|съгласие|лични данни|privolu|osobnih podat
الخصوصية|البيانات الشخصية|פרטיות|מידע אישי|ความเป็นส่วนตัว|ข้อมูลส่วนบุคคล|quyền riêng tư|dữ liệu cá nhân|privasi|data pribadi|गोपनीयता`;

const parse = (words: string): string[] => [
  ...new Set(
    words
      .split(/[|\n]/)
      .map((each) => normalizeWords(each))
      .filter((each) => each !== ''),
  ),
];

export const consentWords: ConsentWords = {
  paid: parse(paid),
  reject: parse(reject),
  acceptAll: parse(acceptAll),
  save: parse(save),
  settings: parse(settings),
  accept: parse(accept),
  about: parse(about),
  aboutPrivacy: parse(aboutPrivacy),
};
