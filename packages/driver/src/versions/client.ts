import type { Kind } from "@dray/api";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { Client, Clock } from "@dray/client";
import { convertingInformer } from "./informer.ts";
import { convertingResource } from "./resource.ts";
import { ServedVersion } from "./served.ts";

/** Memo: a client is asked once for the versions that its server has. */
const wrapped = new WeakMap<Client, Client>();

/**
 * `client`, whose ResourceSlices and ResourceClaims are those of resource.k8s.io/v1 whatever the server has:
 * 1.34 and newer v1, 1.33 v1beta2, 1.32 v1beta1 (and a cluster may have switched any of them off). v1beta2
 * has the fields of v1; v1beta1 has those of devices under `basic`, and no `exactly` in requests. Other kinds
 * are left alone.
 * Upstream: k8s.io/dynamic-resource-allocation/client
 */
export function withResourceVersions(client: Client, clock: Clock): Client {
  const known = wrapped.get(client);
  if (known !== undefined) return known;
  const served = new ServedVersion(client, clock);
  const converting: Client = {
    resource: (kind, options) =>
      isOurs(kind) ? convertingResource(client, served, kind) : client.resource(kind, options),
    informer: (kind, options) =>
      isOurs(kind) ? convertingInformer(client, served, kind, options) : client.informer(kind, options),
    text: (...request) => client.text(...request),
    stream: (...request) => client.stream(...request),
    close: () => client.close(),
  };
  wrapped.set(client, converting);
  wrapped.set(converting, converting);
  return converting;
}

function isOurs(kind: Kind): boolean {
  return kind === (ResourceSlice as Kind) || kind === (ResourceClaim as Kind);
}
