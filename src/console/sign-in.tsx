import { useEffect, useState } from "preact/hooks";
import { type Session, signIn, signInProblem } from "./session.ts";

/** Exchanges an admin key for a session. The key stays in the field only until it is sent. */
export function SignIn({ why, onSignedIn }: { why: string | undefined; onSignedIn(session: Session): void }) {
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  useEffect(() => {
    document.title = "pmctl · Sign in";
  }, []);
  const send = async (form: HTMLFormElement): Promise<void> => {
    const field = form.elements.namedItem("key") as HTMLInputElement;
    const key = field.value;
    field.value = "";
    setSending(true);
    setProblem(undefined);
    try {
      onSignedIn(await signIn(key));
    } catch (error) {
      setProblem(signInProblem(error));
      setSending(false);
      field.focus();
    }
  };
  return (
    <main class="sign-in">
      <h1>Sign in</h1>
      <p>
        To the console of <strong>{document.documentElement.dataset.tenant}</strong>
      </p>
      {why && <p role="status">{why}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send(event.currentTarget);
        }}
      >
        <label class="field">
          Admin key
          {/* biome-ignore lint/a11y/noAutofocus: the page has one field */}
          <input type="password" name="key" autoComplete="off" spellcheck={false} required autoFocus />
        </label>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="main" disabled={isSending}>
          Sign in
        </button>
      </form>
      <p class="soft">The key is exchanged for a session of this browser and is not kept.</p>
    </main>
  );
}
