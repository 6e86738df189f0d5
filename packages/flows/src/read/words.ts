/**
 * The words by which sites name what flows look for, by language. Matched without
 * case, accents and punctuation, see `normalizeWords` of `page-scripts/read/words.ts`.
 */

type Language =
  | 'en'
  | 'de'
  | 'fr'
  | 'es'
  | 'it'
  | 'pt'
  | 'nl'
  | 'pl'
  | 'ru'
  | 'uk'
  | 'tr'
  | 'ja'
  | 'zh'
  | 'ko'
  | 'sv'
  | 'da'
  | 'nb'
  | 'fi'
  | 'cs'
  | 'hu'
  | 'ro'
  | 'el';
type Words = Readonly<Record<Language, readonly string[]>>;

const all = (words: Words): string[] => [...new Set(Object.values(words).flat())];

/** Labels of a link or button to the next page of a list. The whole label has to match. */
export const nextWords = all({
  en: ['next', 'next page', 'go to next page', 'go to the next page', 'next results', 'next page of results', 'older posts', 'older'],
  de: ['weiter', 'nächste', 'nächste Seite', 'zur nächsten Seite', 'vor', 'vorwärts', 'nächste Ergebnisse', 'ältere Beiträge'],
  fr: ['suivant', 'suivante', 'suivants', 'page suivante', 'aller à la page suivante', 'résultats suivants'],
  es: ['siguiente', 'siguientes', 'página siguiente', 'siguiente página', 'ir a la página siguiente', 'próxima', 'próxima página'],
  it: [
    'successivo',
    'successiva',
    'successivi',
    'avanti',
    'pagina successiva',
    'prossima',
    'prossima pagina',
    'vai alla pagina successiva',
  ],
  pt: ['próximo', 'próxima', 'seguinte', 'próxima página', 'página seguinte', 'avançar', 'ir para a próxima página'],
  nl: ['volgende', 'volgende pagina', 'ga naar de volgende pagina', 'verder'],
  pl: ['następna', 'następny', 'następne', 'dalej', 'następna strona', 'kolejna strona', 'przejdź do następnej strony'],
  ru: ['далее', 'следующая', 'следующий', 'следующая страница', 'дальше', 'вперед', 'перейти на следующую страницу'],
  uk: ['далі', 'наступна', 'наступна сторінка', 'вперед'],
  tr: ['sonraki', 'sonraki sayfa', 'ileri', 'bir sonraki sayfa'],
  ja: ['次へ', '次のページ', '次のページへ', '次', '次ページ', '次を表示', '次の検索結果', '進む'],
  zh: ['下一页', '下页', '下一頁', '下頁', '后页', '后一页'],
  ko: ['다음', '다음 페이지', '다음페이지', '다음으로'],
  sv: ['nästa', 'nästa sida', 'framåt'],
  da: ['næste', 'næste side', 'frem'],
  nb: ['neste', 'neste side', 'fram'],
  fi: ['seuraava', 'seuraava sivu'],
  cs: ['další', 'další stránka', 'následující', 'následující stránka', 'další strana'],
  hu: ['következő', 'következő oldal', 'tovább'],
  ro: ['următoarea', 'următorul', 'pagina următoare', 'înainte'],
  el: ['επόμενη', 'επόμενο', 'επόμενη σελίδα'],
});

/** Words of a label that says in a sentence that it leads to the next page, as `Next page, page 3`. */
export const nextPageWords = all({
  en: ['next page'],
  de: ['nächste Seite', 'nächsten Seite'],
  fr: ['page suivante'],
  es: ['página siguiente', 'siguiente página', 'próxima página'],
  it: ['pagina successiva', 'prossima pagina'],
  pt: ['próxima página', 'página seguinte'],
  nl: ['volgende pagina'],
  pl: ['następna strona', 'następnej strony', 'kolejna strona'],
  ru: ['следующая страница', 'следующую страницу'],
  uk: ['наступна сторінка', 'наступну сторінку'],
  tr: ['sonraki sayfa'],
  ja: ['次のページ'],
  zh: ['下一页', '下一頁'],
  ko: ['다음 페이지'],
  sv: ['nästa sida'],
  da: ['næste side'],
  nb: ['neste side'],
  fi: ['seuraava sivu', 'seuraavalle sivulle'],
  cs: ['další stránka', 'další stránku', 'následující stránka'],
  hu: ['következő oldal'],
  ro: ['pagina următoare'],
  el: ['επόμενη σελίδα'],
});

/** Labels of a button that adds items to a list. The whole label without its numbers has to match. */
export const moreWords = all({
  en: [
    'load more',
    'show more',
    'view more',
    'see more',
    'more results',
    'load more results',
    'show more results',
    'see more results',
    'load more items',
    'show more items',
    'load more products',
    'show more products',
    'load more posts',
    'show next',
    'load next',
    'more items',
    'more products',
    'more posts',
  ],
  de: [
    'mehr laden',
    'mehr anzeigen',
    'weitere laden',
    'weitere anzeigen',
    'mehr Ergebnisse',
    'weitere Ergebnisse',
    'mehr Ergebnisse laden',
    'mehr Ergebnisse anzeigen',
    'weitere Ergebnisse laden',
    'weitere Ergebnisse anzeigen',
    'mehr Produkte anzeigen',
    'mehr Artikel anzeigen',
    'weitere Artikel laden',
    'mehr davon',
  ],
  fr: [
    'charger plus',
    'afficher plus',
    'voir plus',
    'plus de résultats',
    'afficher plus de résultats',
    'charger plus de résultats',
    'voir plus de produits',
    'en voir plus',
    'charger la suite',
  ],
  es: [
    'cargar más',
    'mostrar más',
    'ver más',
    'más resultados',
    'cargar más resultados',
    'mostrar más resultados',
    'ver más resultados',
    'ver más productos',
  ],
  it: [
    'carica altro',
    'carica altri',
    'mostra altro',
    'mostra altri',
    'mostra di più',
    'carica di più',
    'vedi altro',
    'vedi altri',
    'altri risultati',
    'carica altri risultati',
    'mostra altri risultati',
  ],
  pt: [
    'carregar mais',
    'mostrar mais',
    'ver mais',
    'mais resultados',
    'carregar mais resultados',
    'mostrar mais resultados',
    'ver mais produtos',
  ],
  nl: [
    'meer laden',
    'laad meer',
    'toon meer',
    'meer tonen',
    'meer weergeven',
    'bekijk meer',
    'meer resultaten',
    'meer resultaten laden',
    'meer resultaten tonen',
  ],
  pl: ['załaduj więcej', 'pokaż więcej', 'zobacz więcej', 'wczytaj więcej', 'więcej wyników', 'pokaż więcej wyników'],
  ru: ['загрузить ещё', 'показать ещё', 'показать больше', 'загрузить больше', 'ещё', 'больше результатов', 'смотреть ещё'],
  uk: ['завантажити ще', 'показати ще', 'показати більше', 'більше результатів'],
  tr: ['daha fazla', 'daha fazla göster', 'daha fazla yükle', 'daha fazla sonuç', 'devamını göster'],
  ja: ['もっと見る', 'もっと読み込む', 'さらに表示', 'さらに読み込む', 'もっと表示', 'もっとみる', '続きを見る'],
  zh: ['加载更多', '查看更多', '显示更多', '更多', '载入更多', '載入更多', '查看更多结果', '顯示更多', '点击加载更多'],
  ko: ['더 보기', '더보기', '더 불러오기', '결과 더 보기'],
  sv: ['ladda fler', 'visa fler', 'visa mer', 'ladda mer', 'fler resultat'],
  da: ['indlæs flere', 'vis flere', 'vis mere', 'hent flere', 'flere resultater'],
  nb: ['last inn flere', 'vis flere', 'vis mer', 'last flere', 'flere resultater'],
  fi: ['lataa lisää', 'näytä lisää', 'lisää tuloksia'],
  cs: ['načíst další', 'zobrazit více', 'zobrazit další', 'načíst více', 'více výsledků'],
  hu: ['több betöltése', 'továbbiak betöltése', 'több megjelenítése', 'mutass többet'],
  ro: ['încarcă mai multe', 'arată mai multe', 'vezi mai multe', 'afișează mai multe'],
  el: ['φόρτωση περισσότερων', 'εμφάνιση περισσότερων', 'δείτε περισσότερα', 'περισσότερα'],
});

/** Words of a label that leads back, also beside a word that also means forward. */
export const previousWords = all({
  en: ['previous', 'prev', 'back', 'newer'],
  de: ['zurück', 'vorherige', 'vorige'],
  fr: ['précédent', 'précédente', 'retour'],
  es: ['anterior', 'volver', 'atrás'],
  it: ['precedente', 'indietro'],
  pt: ['anterior', 'voltar'],
  nl: ['vorige', 'terug'],
  pl: ['poprzednia', 'poprzedni', 'wstecz'],
  ru: ['назад', 'предыдущая', 'предыдущий'],
  uk: ['назад', 'попередня'],
  tr: ['önceki', 'geri'],
  ja: ['前へ', '前のページ', '戻る'],
  zh: ['上一页', '上页', '上一頁', '返回'],
  ko: ['이전', '이전 페이지'],
  sv: ['föregående', 'tillbaka'],
  da: ['forrige', 'tilbage'],
  nb: ['forrige', 'tilbake'],
  fi: ['edellinen', 'takaisin'],
  cs: ['předchozí', 'zpět'],
  hu: ['előző', 'vissza'],
  ro: ['anterioară', 'anteriorul', 'înapoi'],
  el: ['προηγούμενη', 'πίσω'],
});
