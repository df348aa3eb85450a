import { parseAddress, parseNetwork } from "@dray/api/ip";
import { urlProblem } from "./url/parser.ts";

/** Reports whether a text is an IPv4 or IPv6 address without a zone. */
export function isAddress(text: string): boolean {
  const address = parseAddress(text);
  return typeof address !== "string" && address.zone === "";
}

/** Reports whether a text is a network: `10.0.0.0/8`. */
export const isNetwork = (text: string): boolean => typeof parseNetwork(text) !== "string";

/** Reports whether a text is an absolute URL or an absolute path (Go's url.ParseRequestURI). */
export const isRequestUri = (text: string): boolean => urlProblem(text) === undefined;
