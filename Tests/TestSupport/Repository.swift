/// The folder of `Package.swift`, without a slash at its end.
package let repositoryRoot = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
