/** Whether a host, as a URL or a file names it, is this machine and nobody else's. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host);
}
