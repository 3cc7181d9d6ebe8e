import { createHash } from "node:crypto";
import { OPERATOR_FILE } from "../../config/operator-file.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { Tenant } from "../../config/tenant-file.ts";
import {
  CONTAINER_PORTS,
  CONTAINER_USER,
  containerArguments,
  type Deployment,
  externalVariablesOf,
  graceSecondsOf,
  memoryLimitMb,
} from "./deployment.ts";
import { metadataOf, type Names, namesOf } from "./kubernetes-names.ts";
import { networkPolicy } from "./kubernetes-network.ts";
import { MARKETS_FILE, marketsText, TENANT_FILE, tenantText } from "./resolved-files.ts";

/** Enough for a node to go while a rollout is under way. */
const REPLICAS = 2;

export function tenantResources(tenant: Tenant, deployment: Deployment): object[] {
  const { config } = tenant;
  const names = namesOf(config.tenant);
  const { selector } = names;
  const files = configFiles(tenant, deployment);
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: metadataOf(names), data: files },
    deploymentOf(config, names, files, deployment),
    service(config, names),
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: metadataOf(names),
      spec: { maxUnavailable: 1, selector: { matchLabels: selector } },
    },
    networkPolicy(config, names),
    {
      apiVersion: "monitoring.coreos.com/v1",
      kind: "ServiceMonitor",
      metadata: metadataOf(names),
      spec: {
        selector: { matchLabels: selector },
        endpoints: [{ port: "ops", path: "/metrics", interval: "30s" }],
      },
    },
  ];
}

/** What the pods have of the operator's directory, by file name. */
function configFiles(tenant: Tenant, { operatorFile }: Deployment): Record<string, string> {
  return {
    [TENANT_FILE]: tenantText(tenant),
    ...(tenant.markets.length > 0 && { [MARKETS_FILE]: marketsText(tenant) }),
    ...(operatorFile !== undefined && { [OPERATOR_FILE]: operatorFile }),
  };
}

function deploymentOf(
  config: TenantConfig,
  names: Names,
  files: Readonly<Record<string, string>>,
  { bin, directory, image }: Deployment,
) {
  const { tenant } = config;
  const { server, owner } = externalVariablesOf(config);
  const container = {
    image,
    command: [bin],
    workingDir: directory,
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
    },
    volumeMounts: [
      { name: "state", mountPath: directory },
      { name: "tmp", mountPath: "/tmp" },
      // Each file by itself: a rollout brings a new one, and pods of the old one keep theirs until then.
      ...Object.keys(files).map((name) => ({
        name: "config",
        mountPath: name === OPERATOR_FILE ? `${directory}/${name}` : `${directory}/tenants/${tenant}/${name}`,
        subPath: name,
        readOnly: true,
      })),
    ],
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadataOf(names),
    spec: {
      replicas: REPLICAS,
      revisionHistoryLimit: 5,
      selector: { matchLabels: names.selector },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        // Changed files make a rollout.
        metadata: { labels: names.labels, annotations: { "checksum/config": digestOf(files) } },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: graceSecondsOf(config),
          securityContext: {
            runAsNonRoot: true,
            runAsUser: CONTAINER_USER,
            runAsGroup: CONTAINER_USER,
            fsGroup: CONTAINER_USER,
            seccompProfile: { type: "RuntimeDefault" },
          },
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: "kubernetes.io/hostname",
              whenUnsatisfiable: "ScheduleAnyway",
              labelSelector: { matchLabels: names.selector },
            },
          ],
          initContainers: [
            {
              ...container,
              name: "apply",
              args: ["apply", tenant, "--via", "db", "--on-drift", "adopt", "--yes", "--no-input"],
              env: environment(names, [...server, ...owner]),
              resources: { requests: { cpu: "100m", memory: "256Mi" }, limits: { memory: "512Mi" } },
            },
          ],
          containers: [
            {
              ...container,
              name: "server",
              args: containerArguments(config),
              env: environment(names, server),
              ports: [
                { name: "api", containerPort: CONTAINER_PORTS.api },
                { name: "ops", containerPort: CONTAINER_PORTS.ops },
              ],
              startupProbe: { ...probe("/livez"), periodSeconds: 2, failureThreshold: 60 },
              readinessProbe: { ...probe("/readyz"), periodSeconds: 2, failureThreshold: 2 },
              livenessProbe: { ...probe("/livez"), periodSeconds: 10, failureThreshold: 3 },
              resources: {
                requests: { cpu: "250m", memory: `${config.server.memoryMb}Mi` },
                limits: { memory: `${memoryLimitMb(config)}Mi` },
              },
            },
          ],
          volumes: [
            { name: "state", emptyDir: {} },
            { name: "tmp", emptyDir: {} },
            { name: "config", configMap: { name: names.name } },
          ],
        },
      },
    },
  };
}

function probe(path: string) {
  return { httpGet: { path, port: "ops" }, timeoutSeconds: 3 };
}

/** Each variable from the key of its name in the tenant's Secret. */
function environment({ name: secret }: Names, variables: readonly string[]) {
  return variables.toSorted().map((name) => ({ name, valueFrom: { secretKeyRef: { name: secret, key: name } } }));
}

function service({ server: { tls } }: TenantConfig, names: Names) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadataOf(names),
    spec: {
      type: "ClusterIP",
      selector: names.selector,
      ports: [
        tls ? { name: "https", port: 443, targetPort: "api" } : { name: "http", port: 80, targetPort: "api" },
        { name: "ops", port: CONTAINER_PORTS.ops, targetPort: "ops" },
      ],
    },
  };
}

function digestOf(files: Readonly<Record<string, string>>): string {
  return createHash("sha256").update(JSON.stringify(files)).digest("hex");
}
