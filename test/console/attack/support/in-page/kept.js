/** Everything that the page, its document and its storage hold, as one text. */
export default async function kept() {
  const stored = [];
  for (const storage of [localStorage, sessionStorage]) stored.push(JSON.stringify({ ...storage }));
  for (const { name } of await indexedDB.databases()) stored.push(name);
  for (const name of await caches.keys()) stored.push(name);
  const fields = [...document.querySelectorAll("input, textarea, select")].map(({ value }) => value);
  const entries = performance.getEntries().map((entry) => JSON.stringify(entry));
  const place = [
    location.href,
    document.referrer,
    document.cookie,
    document.title,
    JSON.stringify(history.state),
    name,
  ];
  const globals = Object.keys(window).map((each) => {
    try {
      return `${each}=${JSON.stringify(window[each])}`;
    } catch {
      return each;
    }
  });
  return [document.documentElement.outerHTML, ...stored, ...fields, ...entries, ...place, ...globals].join("\n");
}
