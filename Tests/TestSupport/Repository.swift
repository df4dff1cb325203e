/// The folder of `Package.swift`, without a trailing slash.
package let repositoryRoot = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
