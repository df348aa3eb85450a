/**
 * The parts of cert-manager that charts of drivers need: a Certificate becomes a Secret, and webhooks that
 * name the Certificate get its authority. All issuers are self-signed; nothing is renewed.
 */
import type { Kind, KubeObject } from "@dray/api";
import { ValidatingWebhookConfiguration } from "@dray/api/admissionregistration/v1";
import { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import { Secret } from "@dray/api/core/v1";
import { createAuthority, issueCertificate } from "@dray/apiserver";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";

interface Certificate extends KubeObject {
  readonly spec: { readonly secretName: string; readonly dnsNames?: readonly string[] };
}

const group = "cert-manager.io";
const certificateKind: Kind<Certificate> = {
  group,
  version: "v1",
  kind: "Certificate",
  resource: "certificates",
  namespaced: true,
};
/** Annotation of webhook configurations; the value is NAMESPACE/NAME of a Certificate. */
const injectAnnotation = "cert-manager.io/inject-ca-from";

/** Defines the kinds, and issues certificates until the signal. Failures are handed to `failed`. */
export async function startCertManager(
  client: Client,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<void> {
  for (const [resource, kind] of [
    ["issuers", "Issuer"],
    ["certificates", "Certificate"],
  ] as const)
    await define(client, resource, kind);
  const authority = await createAuthority("cert-manager", Date.now());
  const configurations = client.resource(ValidatingWebhookConfiguration);

  const issue = async ({ metadata, spec }: Certificate): Promise<void> => {
    const [commonName = metadata.name ?? ""] = spec.dnsNames ?? [];
    const pair = await issueCertificate(
      authority,
      { commonName, dnsNames: [...(spec.dnsNames ?? [])], usages: ["server"] },
      Date.now(),
    );
    const data = { "tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate };
    await client.resource(Secret).create({
      metadata: { namespace: metadata.namespace ?? "", name: spec.secretName },
      type: "kubernetes.io/tls",
      data: Object.fromEntries(Object.entries(data).map(([name, text]) => [name, base64(text)])),
    });
  };
  const inject = async (configuration: ValidatingWebhookConfiguration): Promise<void> => {
    const { metadata, webhooks = [] } = configuration;
    if (metadata.annotations?.[injectAnnotation] === undefined) return;
    const caBundle = base64(authority.certificate);
    if (webhooks.every(({ clientConfig }) => clientConfig.caBundle === caBundle)) return;
    const patched = webhooks.map(({ name }) => ({ name, clientConfig: { caBundle } }));
    await configurations.patch({ name: metadata.name }, "strategic", { webhooks: patched });
  };
  const work = <T>(act: (object: T) => Promise<void>) => {
    return (object: T): void => void act(object).catch(failed);
  };

  const certificates = client.informer(certificateKind);
  certificates.handle({ add: work(issue) });
  const hooks = client.informer(ValidatingWebhookConfiguration);
  hooks.handle({ add: work(inject), update: work(inject) });
  await Promise.all([certificates.start(signal), hooks.start(signal)]);
}

async function define(client: Client, resource: string, kind: string): Promise<void> {
  const name = `${resource}.${group}`;
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await client.resource(CustomResourceDefinition).create({
    metadata: { name },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: resource, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  await eventually(`${name} is established`, async () => {
    const { status } = await client.resource(CustomResourceDefinition).get({ name });
    return status?.conditions?.some(({ type, status }) => type === "Established" && status === "True");
  });
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
