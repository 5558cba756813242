import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { serveStatic } from '@hono/node-server/serve-static'
import type { Hono } from 'hono'
import type { AppEnv } from './app-context.ts'

/** Results come from wherever the provider keeps them; everything else is ours. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "img-src 'self' http: https: data: blob:",
  "media-src 'self' http: https: blob:",
  "connect-src 'self' http: https:",
  "style-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ')

/** Serves the built demo app at `/`. */
export function addStudio(app: Hono<AppEnv>, directory: string): void {
  app.get('/', async (c) => {
    c.header('Content-Security-Policy', CONTENT_SECURITY_POLICY)
    c.header('Cache-Control', 'no-cache')
    return c.html(await readFile(join(directory, 'index.html'), 'utf8'))
  })
  const files = serveStatic<AppEnv>({
    root: relative(process.cwd(), directory) || '.',
    onFound: (path, c) => {
      // Vite names these by their content.
      if (path.includes('/assets/')) c.header('Cache-Control', 'public, max-age=31536000, immutable')
    },
  })
  app.get('/assets/*', files)
  app.get('/:file{[\\w.-]+\\.(svg|png|ico|webmanifest|txt)}', files)
}
