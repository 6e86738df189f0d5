declare module '@20minutes/s3rver' {
  import type { Server } from 'node:http';

  interface Options {
    address: string;
    port: number;
    silent: boolean;
    directory: string;
    configureBuckets: { name: string; configs: string[] }[];
  }

  interface Context {
    path: string;
    app: object;
  }

  export default class S3rver {
    constructor(options: Options);
    readonly httpServer: Server;
    readonly middleware: ((context: Context, next: () => Promise<void>) => Promise<void>)[];
    run(): Promise<{ address: string; port: number }>;
    close(): Promise<void>;
  }
}
