import { parseAddress, parseNetwork } from "@dray/api/ip";
import { urlProblem } from "./url/parser.ts";

/** An address of IPv4 or IPv6, without a zone. */
export function isAddress(text: string): boolean {
  const address = parseAddress(text);
  return typeof address !== "string" && address.zone === "";
}

/** An address and the length of its prefix: `10.0.0.0/8`. */
export const isNetwork = (text: string): boolean => typeof parseNetwork(text) !== "string";

/** A URL that a request can name: absolute, or an absolute path. */
export const isRequestUri = (text: string): boolean => urlProblem(text) === undefined;
