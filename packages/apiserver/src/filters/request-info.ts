import { requestInfo } from "../request/info.ts";
import type { Filter } from "./call.ts";

/** Parses the path. Upstream: apiserver/pkg/endpoints/filters/requestinfo.go, WithRequestInfo */
export function withRequestInfo(): Filter {
  return (next) => (call) => {
    call.parsed = requestInfo(call.request.method, call.request.url);
    return next(call);
  };
}
