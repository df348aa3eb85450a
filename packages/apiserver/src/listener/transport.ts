import {
  type ApiRequest,
  type ApiResponse,
  ConnectionError,
  type Transport,
  type UserInfo,
} from "@dray/client";

/** Carries requests to a server in the same process, as a known user. */
export function inProcessTransport(
  handle: (request: ApiRequest) => Promise<ApiResponse>,
  user: UserInfo,
  closed: () => boolean,
): Transport {
  let open = true;
  const credential = { type: "user", user } as const;
  return {
    async request(request) {
      if (!open || closed()) throw new ConnectionError("the API server in this process has been closed");
      return handle({ ...request, credential });
    },
    close() {
      open = false;
    },
  };
}
