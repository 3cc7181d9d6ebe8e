export { option, pmctl, pmctlAbout } from "../client/terminal-line.ts";
