# lacli: completion for PowerShell
Register-ArgumentCompleter -Native -CommandName lacli -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -le $cursorPosition } | ForEach-Object { $_.ToString() })
    $complete = $words.Count
    if ($wordToComplete -ne '') { $complete -= 1 }
    & $commandAst.CommandElements[0].ToString() completion --answer $complete '--' @words 2>$null | ForEach-Object {
        if ($_ -eq ':files') { return }
        $parts = $_ -split "`t", 2
        $help = if ($parts.Count -gt 1 -and $parts[1]) { $parts[1] } else { $parts[0] }
        [System.Management.Automation.CompletionResult]::new($parts[0], $parts[0], 'ParameterValue', $help)
    }
}
