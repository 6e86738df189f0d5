/** Types of the part of noVNC that is used here; the package ships none. */
declare module '@novnc/novnc' {
  interface RfbEvents {
    connect: CustomEvent<null>;
    disconnect: CustomEvent<{ clean: boolean }>;
    clipboard: CustomEvent<{ text: string }>;
    desktopname: CustomEvent<{ name: string }>;
    securityfailure: CustomEvent<{ status: number; reason?: string }>;
  }

  export default class RFB extends EventTarget {
    constructor(target: HTMLElement, channel: WebSocket | string, options?: { shared?: boolean });
    background: string;
    scaleViewport: boolean;
    focusOnClick: boolean;
    clipboardPasteFrom(text: string): void;
    disconnect(): void;
    focus(options?: FocusOptions): void;
    /** Presses and releases a key when `down` is absent. */
    sendKey(keysym: number, code: string, down?: boolean): void;
    addEventListener<T extends keyof RfbEvents>(type: T, listener: (event: RfbEvents[T]) => void): void;
  }
}
