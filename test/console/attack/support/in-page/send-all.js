/** Sends every kind of request that a page can send to another origin. @returns what it learnt */
export default async function sendAll({ to, body, key, token }) {
  const read = [];
  const attempt = async (name, url, init) => {
    const answer = await fetch(to + url, { credentials: "include", ...init }).catch(() => undefined);
    if (answer && answer.type !== "opaque" && answer.type !== "opaqueredirect")
      read.push(`${name}: ${answer.status} ${await answer.text()}`);
  };
  const text = JSON.stringify(body);
  const json = { "content-type": "application/json" };
  const claimed = { ...json, "x-csrf-token": token, "idempotency-key": "stolen" };
  for (const mode of ["cors", "no-cors"]) {
    await attempt("read", "/console/api/v1/audit", { mode });
    await attempt("session", "/console/session", { mode });
    await attempt("plain post", "/console/api/v1/markets", { mode, method: "POST", body: text });
    const form = new URLSearchParams({ key });
    await attempt("form sign-in", "/console/session", { mode, method: "POST", body: form });
    await attempt("sign-in", "/console/session", { mode, method: "POST", body: JSON.stringify({ key }) });
  }
  await attempt("post", "/console/api/v1/markets", { method: "POST", body: text, headers: claimed });
  await attempt("put", "/console/api/v1/policy", { method: "PUT", body: '{"feeBps":999}', headers: claimed });
  await attempt("sign-out", "/console/session", { method: "DELETE", headers: claimed });
  const data = new FormData();
  data.set("key", key);
  await attempt("form data", "/console/session", { method: "POST", mode: "no-cors", body: data });
  navigator.sendBeacon(`${to}/console/api/v1/markets`, new Blob([text], { type: "text/plain" }));

  const loaded = (tag, attributes) =>
    new Promise((resolve) => {
      const element = document.createElement(tag);
      // Before its address: an image is asked for at once, and may fail before anyone listens.
      element.onload = () => resolve(`${element.tagName}: loaded`);
      element.onerror = () => resolve(`${element.tagName}: refused`);
      document.body.append(Object.assign(element, attributes));
    });
  read.push(await loaded("script", { src: `${to}/console/session` }));
  read.push(await loaded("img", { src: `${to}/console/api/v1/audit?x` }));
  read.push(await loaded("link", { rel: "stylesheet", href: `${to}/console/` }));
  const socket = new WebSocket(`${to.replace("http", "ws")}/console/api/v1/stream`);
  read.push(
    await new Promise((resolve) => {
      socket.onopen = () => resolve("socket: open");
      socket.onerror = () => resolve("socket: refused");
    }),
  );
  const events = new EventSource(`${to}/console/api/v1/stream`, { withCredentials: true });
  read.push(
    await new Promise((resolve) => {
      events.onopen = () => resolve("stream: open");
      events.onerror = () => resolve("stream: refused");
    }),
  );
  events.close();
  return read;
}
