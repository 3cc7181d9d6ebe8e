import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Service } from "kubernetes-models/v1/Service";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DeployDirectory, deployDirectory, documentsIn } from "./support.ts";

let directory: DeployDirectory;
beforeAll(async () => {
  directory = await deployDirectory();
  expect((await directory.render("--target", "kubernetes")).code).toBe(0);
});
afterAll(() => directory.remove());

const documents = async (file: string) => documentsIn(await directory.read(`deploy/kubernetes/${file}`));

const MODELS = { ConfigMap, Deployment, Service, PodDisruptionBudget, NetworkPolicy, ServiceMonitor };

test.each(["acme", "no"])("each resource of the tenant %s is one that Kubernetes has", async (tenant) => {
  const resources = await documents(`${tenant}.yaml`);
  expect(resources.map(({ kind }) => kind)).toEqual(Object.keys(MODELS));
  for (const resource of resources) {
    const Model = MODELS[resource.kind as keyof typeof MODELS];
    expect(() => new Model(resource).validate()).not.toThrow();
    expect(resource.metadata).toMatchObject({
      name: `pmctl-${tenant}`,
      labels: { "app.kubernetes.io/instance": tenant },
    });
  }
  const [, broken] = resources;
  broken.spec.replicas = "two";
  expect(() => new Deployment(broken).validate()).toThrow();
});

test("servers and what finds them agree on labels and ports", async () => {
  const [, deployment, service, budget, policy, monitor] = await documents("acme.yaml");
  const { labels } = deployment.spec.template.metadata;
  const selectors = [
    deployment.spec.selector.matchLabels,
    service.spec.selector,
    budget.spec.selector.matchLabels,
    policy.spec.podSelector.matchLabels,
  ];
  for (const selector of selectors) expect(labels).toMatchObject(selector);
  expect(service.metadata.labels).toMatchObject(monitor.spec.selector.matchLabels);
  const [server] = deployment.spec.template.spec.containers;
  const named = server.ports.map(({ name }: { name: string }) => name);
  expect(named).toEqual(
    expect.arrayContaining(service.spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort)),
  );
  expect(service.spec.ports).toContainEqual(expect.objectContaining({ name: monitor.spec.endpoints[0].port }));
  for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"])
    expect(named).toContain(server[probe].httpGet.port);
});

test("a server has two replicas, 25 s beyond its draining, and none of the owner's variables; secrets are references", async () => {
  const { spec } = (await documents("acme.yaml"))[1];
  const pod = spec.template.spec;
  expect(spec.replicas).toBeGreaterThanOrEqual(2);
  expect(pod.terminationGracePeriodSeconds).toBe(12 + 25);
  const variables = (container: { env: { name: string; valueFrom: { secretKeyRef: object } }[] }) =>
    container.env.map(({ name, valueFrom }) => {
      expect(valueFrom).toEqual({ secretKeyRef: { name: "pmctl-acme", key: name } });
      return name;
    });
  const ofServer = ["ACME_ADMIN_KEY", "ACME_AUDIT_KEY", "ACME_DATABASE_PASSWORD", "ACME_JWT_SECRET", "ACME_PUBLIC_KEY"];
  expect(variables(pod.containers[0])).toEqual(ofServer);
  expect(variables(pod.initContainers[0])).toEqual([...ofServer, "ACME_OWNER_URL"].toSorted());
  expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
  for (const container of [...pod.containers, ...pod.initContainers])
    expect(container.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
});

test("the database cluster acknowledges no change that only the primary has, and promotes no server that lacks one", async () => {
  const [cluster, ...others] = await documents("database.yaml");
  expect(others).toEqual([]);
  expect(cluster).toMatchObject({ apiVersion: "postgresql.cnpg.io/v1", kind: "Cluster" });
  const { spec } = cluster;
  expect(spec.instances).toBe(3);
  expect(spec.postgresql.synchronous).toEqual({
    method: "any",
    number: 1,
    dataDurability: "required",
    failoverQuorum: true,
  });
  // The operator takes parameters as texts.
  for (const value of Object.values(spec.postgresql.parameters)) expect(value).toBeTypeOf("string");
  expect(spec.managed.roles).toContainEqual(
    expect.objectContaining({ name: "pmctl-server-acme", passwordSecret: { name: "database-server-acme" } }),
  );
});
