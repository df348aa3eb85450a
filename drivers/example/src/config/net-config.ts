import { configReader, shown } from "./reader.ts";

/** `NetConfig` of `net.resource.example.com/v1alpha1`: bits in a burst above the rate; 0: no limit. */
export interface Burst {
  readonly ingress: bigint;
  readonly egress: bigint;
}

const apiVersion = "net.resource.example.com/v1alpha1";
const { object, oneOf, fail } = configReader("NetConfig");

/** Default for devices without a configuration. */
export const defaultBurst: Burst = { ingress: 0n, egress: 0n };

/**
 * In bits: traffic shaping counts bytes in 32 bits.
 * Upstream: dra-example-driver, api/example.com/resource/net/v1alpha1, validateRateAndBurst
 */
const maxBurst = 8n * (2n ** 32n - 1n) - 1n;

/**
 * Decodes the opaque parameters of a claim or class. Throws an error that names the field, its value and what
 * is accepted; rejects unknown fields.
 */
export function decodeNetConfig(parameters: unknown): Burst {
  const config = object(parameters, "", ["apiVersion", "kind", "bwBurst"]);
  oneOf(config["apiVersion"], "apiVersion", [apiVersion]);
  oneOf(config["kind"], "kind", ["NetConfig"]);
  const burst = object(config["bwBurst"] ?? {}, "bwBurst", ["ingressBurst", "egressBurst"]);
  return {
    ingress: bits(burst["ingressBurst"], "bwBurst.ingressBurst"),
    egress: bits(burst["egressBurst"], "bwBurst.egressBurst"),
  };
}

function bits(value: unknown, path: string): bigint {
  if (value === undefined) return 0n;
  const whole = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  const amount = whole ? BigInt(value) : -1n;
  if (amount < 0n || amount > maxBurst)
    fail(path, `${shown(value)} must be a whole number of bits from 0 to ${maxBurst}`);
  return amount;
}
