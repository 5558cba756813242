import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

const server = 'http://localhost:8787'

export default defineConfig({
  plugins: [react()],
  /** Workspace packages resolve to their sources, so that the studio never shows a stale build of the client. */
  resolve: { conditions: ['holdfast-source', ...defaultClientConditions] },
  build: {
    sourcemap: false,
    /** The first versions that know `light-dark()`, `field-sizing` being optional. */
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    /** The page runs under `default-src 'self'`: files, not data URLs. */
    assetsInlineLimit: 0,
  },
  server: {
    proxy: { '/v1': server, '/dev': server, '/files': server, '/healthz': server },
  },
})
