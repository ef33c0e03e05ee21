import { defineConfig } from "vite";

// Addresses are relative: the same files work at any path of any host, and behind the token of `switchwright lab`.
export default defineConfig({
  base: "./",
  build: { target: "es2022", assetsInlineLimit: 0, chunkSizeWarningLimit: 900, modulePreload: { polyfill: false } },
  worker: { format: "es" },
});
