import { render } from "preact";
import "./styles/console.css";
import { useEffect, useState } from "preact/hooks";
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
  if (session === "unknown") return null;
  if (session === "none") return <SignIn onSignedIn={setSession} />;
  return <Frame key={session.csrfToken} session={session} onEnd={() => setSession("none")} />;
}

keepIsolates();
render(<Console />, document.body);
