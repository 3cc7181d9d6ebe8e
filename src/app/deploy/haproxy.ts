import type { DatabaseNode, RenderedFile } from "./deployment.ts";
import { at, PATRONI_PORT, POSTGRES_PORT } from "./node-address.ts";

/** Where servers find the primary, on each machine with HAProxy. */
const PRIMARY_PORT = 5000;

/** HAProxy's way to the primary: a node is up while its Patroni says that it is the primary, and only then. */
export function haproxyFile(nodes: readonly DatabaseNode[]): RenderedFile {
  const servers = nodes.map(
    ({ name, host }) => `  server ${name} ${at(host, POSTGRES_PORT)} check port ${PATRONI_PORT}`,
  );
  const text = `global
  log stderr format short daemon
  user haproxy
  group haproxy
  maxconn 4096

defaults
  mode tcp
  log global
  option dontlognull
  # Idle connections of pools, and machines that vanish without a word.
  option clitcpka
  option srvtcpka
  timeout connect 3s
  timeout client 1h
  timeout server 1h
  timeout check 2s

frontend postgres
  bind :${PRIMARY_PORT}
  default_backend primary

backend primary
  option httpchk
  http-check send meth OPTIONS uri /primary
  http-check expect status 200
  # Connections to a primary that is none any more are cut, so that clients look for the new one.
  # A node whose name is not known yet keeps the proxy from none of the others.
  default-server inter 1s fastinter 500ms downinter 1s fall 2 rise 1 on-marked-down shutdown-sessions init-addr last,libc,none
${servers.join("\n")}
`;
  return { path: "haproxy.cfg", text };
}
