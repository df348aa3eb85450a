import { isLongRunning } from "../request/long-running.ts";
import type { Filter } from "./call.ts";
import type { FilterParts } from "./parts.ts";

/** Encodes a large response while its request still has a seat. In process, responses are objects. */
export function withLargeResponses({ largeWork }: Pick<FilterParts, "largeWork">): Filter {
  return (next) => async (call) => {
    const { request, info } = call;
    const response = await next(call);
    if (!isLongRunning(info) && request.credential.type !== "user")
      await largeWork.answer(response, () => request.signal);
    return response;
  };
}
