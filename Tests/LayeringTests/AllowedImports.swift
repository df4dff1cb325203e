/// The layers of `Sources` with their modules. A module imports only modules that come earlier.
let layers: [(name: String, modules: [String])] = [
  ("Core", ["Primitives", "HTTP1", "Policy", "Lifecycle", "Gateway"]),
  ("Platform", ["EventLoop", "System", "Configuration", "JSON", "Inflate", "Crypto", "TLS"]),
  ("Secrets", ["Secrets", "Redaction", "Credentials", "OAuth"]),
  ("Server", ["Audit", "Log", "Transport", "Setup", "Providers", "Proxy", "Admin", "Daemon", "bearerd"]),
  ("Tools", ["TestServer", "Console", "Demo", "Presets", "Selftest", "bearerctl"]),
]

/// The folder of a module, relative to the repository.
func sourceFolder(of module: String) -> String {
  let layer = layers.first { $0.modules.contains(module) }?.name ?? ""
  return "Sources/\(layer)/\(module)"
}

/// The imports that each module may have, except the toolchain's. Every module has a row. A C module is in one row only
/// (`COpenSSL` in three).
let moduleImports: [String: Set<String>] = [
  "bearerctl": [
    "Selftest", "Demo", "Presets", "Console", "Setup", "Secrets", "Log", "TLS", "Crypto", "Gateway", "Audit",
    "Configuration", "Policy", "System", "ArgumentParser", "HTTP1", "Primitives",
  ],
  "Selftest": [
    "Console", "TestServer", "Setup", "Gateway", "Configuration", "Policy", "System", "HTTP1", "Primitives",
  ],
  "Demo": ["Console", "TestServer", "System"],
  "Presets": ["Configuration", "Policy", "Primitives"],
  "Console": ["System"],
  "bearerd": ["Daemon"],
  "Daemon": [
    "Admin", "Proxy", "Providers", "Setup", "Transport", "Log", "Secrets", "Gateway", "Configuration", "Lifecycle",
    "Credentials", "EventLoop", "System",
  ],
  "Admin": [
    "Proxy", "Providers", "Setup", "Log", "Audit", "Secrets", "Configuration", "OAuth", "Credentials", "EventLoop",
    "System", "Gateway", "Policy", "HTTP1", "Primitives",
  ],
  "Proxy": [
    "Providers", "Setup", "Transport", "Log", "Audit", "Redaction", "Secrets", "TLS", "Gateway", "Configuration",
    "Credentials", "Policy", "EventLoop", "System", "HTTP1", "Primitives",
  ],
  "Providers": [
    "Setup", "Transport", "Log", "Redaction", "Secrets", "TLS", "Gateway", "Configuration", "Lifecycle", "OAuth",
    "Credentials", "Policy", "EventLoop", "System", "Primitives",
  ],
  "Setup": [
    "Transport", "Log", "Audit", "Secrets", "TLS", "Crypto", "Gateway", "Configuration", "Credentials", "Policy",
    "EventLoop", "System", "HTTP1", "Primitives",
  ],
  "Transport": [
    "Log", "Secrets", "TLS", "Gateway", "Credentials", "Policy", "EventLoop", "System", "HTTP1", "Primitives",
  ],
  "Log": ["Audit", "Configuration", "EventLoop", "System", "Primitives"],
  "Credentials": ["Redaction", "Secrets", "TLS", "Crypto", "Policy", "System", "Primitives"],
  "Redaction": ["Secrets", "Inflate", "System", "Primitives"],
  "Secrets": ["JSON", "Lifecycle", "Policy", "System", "Primitives"],
  "OAuth": ["Credentials", "Secrets", "TLS", "Crypto", "JSON", "Policy", "System", "HTTP1", "Primitives"],
  "Audit": ["Crypto", "System"],
  "Gateway": ["Lifecycle", "Policy", "HTTP1", "Primitives"],
  "Lifecycle": [],
  "Configuration": ["Policy", "CYAML", "Primitives"],
  "JSON": ["CJansson"],
  "Inflate": ["CZlib"],
  "TLS": ["Crypto", "Policy", "COpenSSL", "Primitives"],
  "Crypto": ["Policy", "COpenSSL"],
  "Policy": ["HTTP1", "Primitives"],
  "EventLoop": ["CLibuv"],
  "System": ["CLinux", "Primitives"],
  "HTTP1": ["Primitives"],
  "Primitives": [],
  "TestServer": ["COpenSSL"],
]

/// Modules that may not even import the C library.
let pureModules: Set<String> = ["Primitives", "HTTP1", "Policy", "Gateway", "Lifecycle"]

/// The toolchain's modules that all other modules may import. Foundation is missing because it would double the
/// daemon's size.
let toolchain: Set<String> = ["Glibc", "Synchronization"]

/// ArgumentParser already brings `FoundationEssentials` into bearerctl.
let modulesWithFoundation: Set<String> = ["bearerctl"]

/// The imports that each test target may have, except the toolchain's, Testing, Foundation and Dispatch.
let testImports: [String: Set<String>] = [
  "PrimitivesTests": ["TestSupport", "Primitives"],
  "HTTP1Tests": ["HTTP1", "TestSupport", "Primitives"],
  "PolicyTests": ["Policy", "HTTP1", "TestSupport"],
  "GatewayTests": ["Gateway", "Policy", "HTTP1", "TestSupport", "Primitives"],
  "LifecycleTests": ["Lifecycle", "Gateway", "Policy"],
  "ConfigurationTests": ["Configuration", "Policy", "HTTP1", "TestSupport"],
  "CryptoTests": ["Crypto", "Policy", "TestSupport", "COpenSSL"],
  "EventLoopTests": ["EventLoop"],
  "InflateTests": ["Inflate", "CZlib", "TestSupport"],
  "SystemTests": ["System", "CLinux", "TestSupport"],
  "TLSTests": ["TLS", "Policy", "TestServer", "TestSupport"],
  "SecretsTests": ["Secrets", "Policy", "System", "TestSupport"],
  "RedactionTests": ["Redaction", "Secrets", "TestSupport", "System"],
  "CredentialsTests": [
    "Credentials", "Redaction", "Secrets", "TLS", "Policy", "HTTP1", "TestServer", "System", "TestSupport",
  ],
  "OAuthTests": ["OAuth", "Credentials", "Secrets", "TLS", "Crypto", "Policy", "TestServer", "TestSupport"],
  "AuditTests": ["Audit", "TestSupport"],
  "ServerSupport": [
    "Daemon", "Proxy", "Log", "Crypto", "Configuration", "System", "Policy", "EventLoop", "TestServer", "TestSupport",
  ],
  "LogTests": ["Log", "Audit", "Configuration", "EventLoop", "TestSupport"],
  "TransportTests": [
    "ServerSupport", "Transport", "Log", "Gateway", "Policy", "EventLoop", "TestServer", "TestSupport",
  ],
  "ProvidersTests": ["ServerSupport", "Providers", "Log", "TestServer", "TestSupport"],
  "ProxyTests": [
    "ServerSupport", "Proxy", "Setup", "Log", "Gateway", "Configuration", "Policy", "HTTP1", "EventLoop",
    "TestServer", "TestSupport",
  ],
  "AdminTests": ["ServerSupport", "Log", "TestServer", "TestSupport"],
  "DaemonTests": ["ServerSupport", "Daemon", "Log", "EventLoop", "TestServer", "TestSupport"],
  "TestSupport": [],
  "LayeringTests": ["TestSupport"],
  "BearerctlTests": ["Presets", "TestServer", "TestSupport"],
  "DemoTests": ["TestSupport"],
  "SelftestTests": ["Selftest", "TestServer", "Setup", "Configuration", "Policy", "TestSupport"],
  "Differential": ["Policy", "HTTP1", "TestSupport"],
  "Fuzz": [
    "Log", "Redaction", "Secrets", "Gateway", "Credentials", "OAuth", "Configuration", "TLS", "Policy", "HTTP1",
    "TestSupport", "Primitives",
  ],
  "EndToEnd": [
    "ServerSupport", "Selftest", "TestServer", "Setup", "Log", "Gateway", "TLS", "Policy", "HTTP1", "TestSupport",
  ],
]

/// All imports that a module of `Sources` may have. `nil` if the module has no row.
func allowedImports(of module: String) -> Set<String>? {
  guard let ours = moduleImports[module] else { return nil }
  if pureModules.contains(module) { return ours }
  return ours.union(toolchain).union(modulesWithFoundation.contains(module) ? ["FoundationEssentials"] : [])
}

/// All imports that a test target may have. `nil` if the target has no row.
func allowedImports(ofTests target: String) -> Set<String>? {
  testImports[target]?.union(toolchain).union(["Testing", "Foundation", "Dispatch"])
}
