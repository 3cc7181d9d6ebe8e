import { render } from "preact";
import "./styles/console.css";
import { useEffect, useRef, useState } from "preact/hooks";
import { Frame } from "./frame.tsx";
import { keepIsolates } from "./isolates.ts";
import { readSession, type Session } from "./session.ts";
import { SignIn } from "./sign-in.tsx";

/** The console: the sign-in form or the views, at any address. */
function Console() {
  const [session, setSession] = useState<Session | "unknown" | "none">("unknown");
  useEffect(() => {
    readSession().then(
      (found) => setSession(found ?? "none"),
      () => setSession("none"),
    );
  }, []);
  const [why, setWhy] = useState<string>();
  const before = useRef(session);
  useEffect(() => {
    if (before.current === "none") (document.querySelector("h1") ?? document.querySelector("main"))?.focus();
    before.current = session;
  }, [session]);
  if (session === "unknown") return null;
  if (session === "none") return <SignIn why={why} onSignedIn={setSession} />;
  const end = (reason?: string): void => {
    setWhy(reason);
    setSession("none");
  };
  return <Frame key={session.csrfToken} session={session} onEnd={end} />;
}

keepIsolates();
render(<Console />, document.body);
