/** Health and metrics of the components beside the API server. */
export {
  type Answer,
  type ComponentCheck,
  ComponentEndpoints,
  type ComponentSources,
  plainAnswer,
} from "./endpoints.ts";
