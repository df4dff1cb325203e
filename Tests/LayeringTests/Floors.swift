/// The folders of `Sources`, from the ground up, with their modules. A module imports none of a later storey.
let storeys: [(name: String, modules: [String])] = [
  ("Core", ["Primitives", "HTTP1", "Policy", "Lifecycle", "Gateway"]),
  ("Platform", ["EventLoop", "System", "Configuration", "JSON", "Inflate", "Crypto", "TLS"]),
  ("Secrets", ["Secrets", "Redaction", "Credentials", "OAuth"]),
  ("Server", ["Audit", "Log", "Transport", "Setup", "Providers", "Proxy", "Admin", "Daemon", "bearerd"]),
  ("Tools", ["TestServer", "Console", "Demo", "Presets", "Selftest", "bearerctl"]),
]

/// Where a module stands, from the top of the repository.
func sourceFolder(of module: String) -> String {
  let storey = storeys.first { $0.modules.contains(module) }?.name ?? ""
  return "Sources/\(storey)/\(module)"
}

/// What each module may import of ours, of C and of packages. A module that is not here may not exist; when the house
/// outgrows the table, the table changes first. C modules stand in the one row (COpenSSL: three) that may touch them.
let floors: [String: Set<String>] = [
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

/// They decide, and nothing else: not even the C library's names are in sight.
let pureModules: Set<String> = ["Primitives", "HTTP1", "Policy", "Gateway", "Lifecycle"]

/// What everybody else may use of the toolchain. Foundation is not among it: it doubles the daemon.
let toolchain: Set<String> = ["Glibc", "Synchronization"]

/// bearerctl has this much of Foundation already, with ArgumentParser.
let modulesWithFoundation: Set<String> = ["bearerctl"]

/// What each test target may import beside the toolchain, Testing, Foundation and Dispatch.
let testFloors: [String: Set<String>] = [
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

/// What a module below `Sources` may import.
func allowedImports(of module: String) -> Set<String>? {
  guard let ours = floors[module] else { return nil }
  if pureModules.contains(module) { return ours }
  return ours.union(toolchain).union(modulesWithFoundation.contains(module) ? ["FoundationEssentials"] : [])
}

/// What a test target may import.
func allowedImports(ofTests target: String) -> Set<String>? {
  testFloors[target]?.union(toolchain).union(["Testing", "Foundation", "Dispatch"])
}
