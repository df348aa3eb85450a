import { type DeviceRequestAllocationResult, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { type Device, DRAPluginDefinition as DRAPluginV1 } from "@dray/rpc/dra/v1";
import { DRAPluginDefinition as DRAPluginV1beta1 } from "@dray/rpc/dra/v1beta1";
import { type ContainerView, viewContainer } from "./container.ts";
import { callTimeout, type DriverProcess } from "./driver-process.ts";

/** A device that is to be allocated to a claim, as the scheduler would do it. */
export interface AllocateDevice extends Partial<Omit<DeviceRequestAllocationResult, "device" | "driver">> {
  readonly device: string;
}

export interface ClaimOptions {
  /** Made up if absent. */
  readonly name?: string;
  /** `default` if absent. */
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /**
   * Their `request` is `devices`, their pool the node's, unless they say otherwise. They must be published.
   */
  readonly devices: readonly AllocateDevice[];
  /**
   * Parameters for the driver, in the order of the allocation; from the claim and for all requests by
   * default.
   */
  readonly config?: readonly {
    readonly parameters: unknown;
    readonly source?: "FromClass" | "FromClaim";
    readonly requests?: readonly string[];
  }[];
}

/** A claim, and what the kubelet does with it. */
export interface TestClaim {
  readonly claim: ResourceClaim;
  /**
   * As before the first container of a pod, and again after a restart of the kubelet. Rejects with the
   * driver's error.
   */
  prepare(): Promise<PreparedView>;
  /** As after the last container. Rejects with the driver's error. */
  unprepare(): Promise<void>;
  /** Removes it from the API server. */
  delete(): Promise<void>;
}

export interface PreparedView {
  /** As the driver answered. */
  readonly devices: readonly Device[];
  /** Result for a container that uses the claim, or one request of it. */
  container(request?: string): Promise<ContainerView>;
}

/** The slices of all drivers, in the order of their names. */
export async function listSlices(client: Client): Promise<readonly ResourceSlice[]> {
  const { items } = await client.resource(ResourceSlice).list();
  return [...items].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Creates a claim to which devices of the driver are allocated. Rejects if one of them is not published. */
export async function createTestClaim<P>(
  driverProcess: DriverProcess<P>,
  { nodeName, cdiDirectory }: { readonly nodeName: string; readonly cdiDirectory: string },
  {
    name,
    namespace = "default",
    annotations,
    devices,
    config = [],
  }: ClaimOptions & { readonly name: string },
): Promise<TestClaim> {
  const { client } = driverProcess;
  const driver = driverProcess.running.name;
  const results = devices.map((one) => ({ request: "devices", pool: nodeName, ...one, driver }));
  await checkPublished(client, driver, results);
  const requests = [...new Set(results.map(({ request }) => request.split("/")[0]!))];
  const claim = await client.resource(ResourceClaim).create({
    metadata: { namespace, name, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      devices: { requests: requests.map((one) => ({ name: one, exactly: { deviceClassName: driver } })) },
    },
    status: {
      allocation: {
        devices: {
          results,
          config: config.map(({ parameters, source = "FromClaim", requests = [] }) => ({
            source,
            requests: [...requests],
            opaque: { driver, parameters },
          })),
        },
      },
    },
  } as never);
  return testClaim(driverProcess, cdiDirectory, claim);
}

async function checkPublished(
  client: Client,
  driver: string,
  devices: readonly { readonly pool: string; readonly device: string }[],
): Promise<void> {
  const known = (await listSlices(client))
    .filter(({ spec }) => spec.driver === driver)
    .flatMap(({ spec }) => (spec.devices ?? []).map(({ name }) => `${spec.pool.name}/${name}`));
  for (const { pool, device } of devices) {
    if (known.includes(`${pool}/${device}`)) continue;
    throw new Error(`device ${pool}/${device} is not published; published are ${known.join(", ") || "none"}`);
  }
}

function testClaim<P>(
  driverProcess: DriverProcess<P>,
  cdiDirectory: string,
  claim: ResourceClaim,
): TestClaim {
  const { uid, namespace, name } = claim.metadata;
  const request = { claims: [{ uid, namespace, name }] };
  const checked = <A extends { error: string }>(answers: Record<string, A>): A => {
    const answer = answers[uid];
    if (answer === undefined) throw new Error(`the driver gave no answer for claim ${uid}`);
    if (answer.error !== "") throw new Error(answer.error);
    return answer;
  };
  return {
    claim,
    prepare: () =>
      driverProcess.call(async ({ dra, v1 }) => {
        const caller = v1 ? dra.caller(DRAPluginV1) : dra.caller(DRAPluginV1beta1);
        const answer = await caller.nodePrepareResources(request, { timeout: callTimeout });
        const devices: readonly Device[] = checked(answer.claims).devices;
        return { devices, container: (name) => viewContainer(cdiDirectory, devices, name) };
      }),
    unprepare: () =>
      driverProcess.call(async ({ dra, v1 }) => {
        const caller = v1 ? dra.caller(DRAPluginV1) : dra.caller(DRAPluginV1beta1);
        checked((await caller.nodeUnprepareResources(request, { timeout: callTimeout })).claims);
      }),
    async delete() {
      await driverProcess.client.resource(ResourceClaim).delete({ namespace, name });
    },
  };
}
