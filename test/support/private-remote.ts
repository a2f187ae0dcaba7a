import { execFileSync, spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** A git server on loopback that wants a name and a password: git's own `http-backend` behind basic authentication. */
export class PrivateRemote implements AsyncDisposable {
  readonly #server: Server;
  readonly #name: string;
  /** What came as a password, the empty string for requests without any. */
  readonly tried: string[] = [];

  private constructor(server: Server, name: string) {
    this.#server = server;
    this.#name = name;
  }

  /** Serves the bare repository `parent`/`name` to whoever knows the password. */
  static async serve(parent: string, name: string, password: string): Promise<PrivateRemote> {
    const backend = join(
      execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(),
      'git-http-backend',
    );
    const server = createServer((request, response) => {
      const given = Buffer.from(request.headers.authorization?.split(' ')[1] ?? '', 'base64').toString();
      const secret = given.slice(given.indexOf(':') + 1);
      remote.tried.push(secret);
      if (secret !== password) {
        response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end();
        return;
      }
      const url = new URL(request.url ?? '/', 'http://localhost');
      const child = spawn(backend, {
        env: {
          PATH: process.env.PATH ?? '',
          GIT_PROJECT_ROOT: parent,
          GIT_HTTP_EXPORT_ALL: '1',
          REQUEST_METHOD: request.method ?? 'GET',
          PATH_INFO: url.pathname,
          QUERY_STRING: url.search.slice(1),
          CONTENT_TYPE: request.headers['content-type'] ?? '',
          HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
          GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        },
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      request.pipe(child.stdin);
      const chunks: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
      child.stdout.on('end', () => {
        const output = Buffer.concat(chunks);
        const end = output.indexOf('\r\n\r\n');
        const headers = output.toString('latin1', 0, end).split('\r\n');
        let status = 200;
        for (const header of headers) {
          const [field = '', value = ''] = header.split(/: (.*)/s);
          if (field === 'Status') status = Number.parseInt(value, 10);
          else response.setHeader(field, value);
        }
        response.writeHead(status).end(output.subarray(end + 4));
      });
    });
    const remote = new PrivateRemote(server, name);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return remote;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${this.#name}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
