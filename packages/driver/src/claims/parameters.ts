import type { AllocatedClaim, AllocatedDevice } from "../types/driver.ts";
import type { SchemaIssue, StandardSchema } from "../types/standard-schema.ts";

/** Parameters of a claim or a class that the driver's schema refuses. */
export class ParametersError extends Error {
  override readonly name = "ParametersError";
}

/**
 * The claim with the parameters of its devices as `schema` decodes them, each configuration once. Rejects
 * with a ParametersError that names the claim, the place of the configuration in its allocation, and each
 * field that is wrong.
 */
export async function decodeParameters<P>(
  claim: AllocatedClaim,
  schema: StandardSchema<P>,
): Promise<AllocatedClaim<P>> {
  const configs = claim.claim.status?.allocation?.devices?.config ?? [];
  const decoded = new Map<unknown, P>();
  for (const { parameters } of claim.devices.flatMap((device) => device.configs)) {
    if (decoded.has(parameters)) continue;
    const result = await schema["~standard"].validate(parameters);
    if (result.issues === undefined) {
      decoded.set(parameters, result.value);
      continue;
    }
    const index = configs.findIndex(({ opaque }) => opaque?.parameters === parameters);
    const at = `status.allocation.devices.config[${index}].opaque.parameters`;
    const source = configs[index]?.source === "FromClass" ? "from its class" : "from the claim";
    throw new ParametersError(
      `claim ${claim.namespace}/${claim.name}: parameters ${source} are invalid: ${result.issues
        .map((issue) => `${at}${pathText(issue)}: ${issue.message}`)
        .join("; ")}`,
    );
  }
  const devices = claim.devices.map(
    (device): AllocatedDevice<P> => ({
      ...device,
      configs: device.configs.map(({ source, parameters }) => ({
        source,
        // Decoded above; undefined may be a valid result of the schema.
        parameters: decoded.get(parameters)!,
      })),
    }),
  );
  return { ...claim, devices };
}

function pathText({ path = [] }: SchemaIssue): string {
  return path
    .map((segment) => (typeof segment === "object" ? segment.key : segment))
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("");
}
