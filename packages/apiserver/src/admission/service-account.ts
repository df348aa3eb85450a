import type { Container, Pod, ServiceAccount, Volume } from "@dray/api/core/v1";
import { nameSuffix } from "../registry/names.ts";
import { forbidden } from "../response.ts";
import { objectKey } from "../storage/keys.ts";
import type { AdmissionPlugin } from "./admission.ts";
import type { AdmissionContext } from "./plugins.ts";

const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";
/** A little over an hour: the kubelet renews tokens before they end (as upstream). */
const tokenSeconds = 3607;

/** Every pod runs as a service account that exists, and finds its token in a volume. */
export function serviceAccount({ storage, newId }: AdmissionContext): AdmissionPlugin {
  return {
    name: "ServiceAccount",
    mutate(request) {
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
      // Mirror pods show what a node runs by itself: they have no account.
      if (!spec || pod.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined) return;
      spec.serviceAccountName ||= "default";
      // The old name of the field, which is always shown beside the new one.
      spec.serviceAccount = spec.serviceAccountName;
      const key = objectKey("serviceaccounts", namespace, spec.serviceAccountName);
      const account = storage.cache("serviceaccounts").get(key)?.object as ServiceAccount | undefined;
      if (account === undefined) {
        throw forbidden(
          served,
          name,
          `error looking up service account ${namespace}/${spec.serviceAccountName}: serviceaccount ${JSON.stringify(spec.serviceAccountName)} not found`,
        );
      }
      if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)
        mountToken(pod, newId);
      if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
        spec.imagePullSecrets = account.imagePullSecrets.map((secret) => ({ ...secret }));
      }
    },
  };
}

function mountToken(pod: Pod, newId: () => string): void {
  const spec = pod.spec!;
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
