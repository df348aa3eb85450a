export { microTimeText, timeText } from "@dray/api";
