import { quoted } from "@dray/api";
import type { Container, Pod, ServiceAccount, Volume } from "@dray/api/core/v1";
import { podReferences } from "../authorization/pod-references.ts";
import { forbidden } from "../errors/status.ts";
import { nameSuffix } from "../kinds/generated-names.ts";
import { objectKey } from "../storage/keys.ts";
import type { AdmissionPlugin } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

const defaultAccount = "default";
/** Milliseconds. */
const maxWait = 1500;
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";
/** A little over an hour: the kubelet renews tokens before they end (as upstream). */
const tokenSeconds = 3607;

/** Sets the service account of a pod, and mounts its token; rejects a pod whose account does not exist. */
export function serviceAccount(context: AdmissionContext): AdmissionPlugin {
  return {
    async mutate(request) {
      const { served, subresource, object, operation, namespace, name } = request;
      if (
        served.resource !== "pods" ||
        served.group !== "" ||
        subresource !== "" ||
        operation !== "CREATE" ||
        !object
      )
        return;
      const pod = object as Pod;
      const { spec } = pod;
      if (!spec) return;
      // Mirror pods represent static pods, which have no account.
      if (pod.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined) {
        const why = mirrorProblem(pod);
        if (why !== undefined) throw forbidden(served, name, why);
        return;
      }
      spec.serviceAccountName ||= defaultAccount;
      // The deprecated field always has the same value.
      spec.serviceAccount = spec.serviceAccountName;
      const account = await accountOf(context, namespace, spec.serviceAccountName);
      if (account === undefined) {
        throw forbidden(
          served,
          name,
          `error looking up service account ${namespace}/${spec.serviceAccountName}: serviceaccount ${quoted(spec.serviceAccountName)} not found`,
        );
      }
      if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)
        mountToken(pod, context.newId);
      if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
        spec.imagePullSecrets = account.imagePullSecrets.map((secret) => ({ ...secret }));
      }
    },
  };
}

/** Returns the account; waits for that of a new namespace, which a controller creates. */
async function accountOf(
  { storage, after }: AdmissionContext,
  namespace: string,
  name: string,
): Promise<ServiceAccount | undefined> {
  const cache = storage.cache("serviceaccounts");
  const key = objectKey("serviceaccounts", namespace, name);
  const found = (): ServiceAccount | undefined => cache.get(key)?.object as ServiceAccount | undefined;
  const account = found();
  if (account !== undefined || name !== defaultAccount) return account;
  const made = Promise.withResolvers<void>();
  const forget = cache.subscribe((event) => {
    if (event.key === key) made.resolve();
  });
  const cancel = after(maxWait, made.resolve);
  await made.promise;
  forget();
  cancel();
  return found();
}

function mirrorProblem(pod: Pod): string | undefined {
  if (pod.spec?.serviceAccountName) return "a mirror pod may not reference service accounts";
  for (const [resource] of podReferences(pod)) {
    if (resource === "secrets") return "a mirror pod may not reference secrets";
  }
  const sources = (pod.spec?.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  return sources.some((source) => source.serviceAccountToken)
    ? "a mirror pod may not use ServiceAccountToken volume projections"
    : undefined;
}

function mountToken(pod: Pod, newId: () => string): void {
  const spec = pod.spec;
  const containers: Container[] = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const lacking = containers.filter(
    (container) => !(container.volumeMounts ?? []).some((mount) => mount.mountPath === tokenPath),
  );
  if (lacking.length === 0) return;
  const volume = tokenVolume(`kube-api-access-${nameSuffix(newId)}`);
  spec.volumes = [...(spec.volumes ?? []), volume];
  for (const container of lacking) {
    container.volumeMounts = [
      ...(container.volumeMounts ?? []),
      { name: volume.name, readOnly: true, mountPath: tokenPath },
    ];
  }
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { expirationSeconds: tokenSeconds, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
    },
  };
}
