import Foundation
import TestSupport

/// Limits the size of files that the process writes (prlimit(1)). `nil` removes the limit.
func limitFiles(of pid: pid_t, to size: Int?) {
  _ = try? run(["prlimit", "--pid", "\(pid)", "--fsize=\(size.map(String.init) ?? "unlimited"):unlimited"])
}
